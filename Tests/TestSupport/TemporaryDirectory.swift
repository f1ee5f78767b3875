import Foundation

/// A separate directory for one test, removed when its last reference is released.
public final class TemporaryDirectory: Sendable {
    /// Absolute path.
    public let path: String

    /// Creates the directory under the system's temporary directory.
    ///
    /// - Parameter isInMemory: Whether it may be in memory, if possible: for tests that often wait for the disk,
    ///   but not for tests of durability.
    /// - Throws: An error if it cannot be created.
    public init(isInMemory: Bool = false) throws {
        let memory = "/dev/shm/"
        let parent = isInMemory && access(memory, W_OK) == 0 ? memory : NSTemporaryDirectory()
        path = parent + "mediactl-test-" + UUID().uuidString.lowercased()
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Path of an entry in it.
    public func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file in it.
    ///
    /// - Returns: The path of the file.
    @discardableResult
    public func write(_ name: String, _ content: some Sequence<UInt8>) throws -> String {
        try Data(content).write(to: URL(fileURLWithPath: file(name)))
        return file(name)
    }
}
