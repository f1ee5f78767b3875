internal import Foundation
public import Testing

/// A small file system that can be filled. Requires root.
public final class SmallDisk: Sendable {
    /// The disk could not be mounted or made read-only.
    public struct Unmountable: Error {}

    /// Whether a disk can be mounted, which root in a container is often not allowed to do.
    public static let isAvailable = (try? SmallDisk(kibibytes: 64)) != nil

    /// The reason why a test is skipped.
    public static let requirement: Comment = "mounting a small tmpfs requires root or CAP_SYS_ADMIN"

    /// The mount point.
    public let path: String
    private let temporary: TemporaryDirectory

    /// Mounts the disk.
    ///
    /// - Throws: `Unmountable` without the permission to mount.
    public init(kibibytes: Int) throws {
        temporary = try TemporaryDirectory()
        path = temporary.file("disk")
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        let mount = try ChildProcess.run("mount", ["-t", "tmpfs", "-o", "size=\(kibibytes)k", "none", path])
        guard mount.status == 0 else { throw Unmountable() }
    }

    deinit { _ = try? ChildProcess.run("umount", ["--lazy", path]) }

    /// Writes until the disk is full, then frees some pages of 4 KiB.
    public func fill(leavingPages pages: Int = 0) throws {
        let descriptor = open(path + "/filler", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(descriptor) }
        for count in [4096, 1] {
            let block = [UInt8](repeating: 0, count: count)
            while write(descriptor, block, count) == count {}
        }
        ftruncate(descriptor, max(0, lseek(descriptor, 0, SEEK_END) - off_t(pages * 4096)))
    }

    /// Makes the disk read-only.
    ///
    /// The kernel refuses this while a file is open for writing, and each process that another test starts at that
    /// moment keeps the files of this process open from its `fork` to its `exec`. So the call is retried.
    ///
    /// - Throws: `Unmountable` if a file stays open for writing.
    public func makeReadOnly() throws {
        for _ in 0..<500 {
            if try ChildProcess.run("mount", ["-o", "remount,ro", path]).status == 0 { return }
        }
        throw Unmountable()
    }

    /// Frees the space used by `fill`.
    public func empty() throws {
        try FileManager.default.removeItem(atPath: path + "/filler")
    }
}
