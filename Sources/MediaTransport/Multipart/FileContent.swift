internal import Glibc
internal import MediaSystem

/// A file, open for reading, with the length that was measured when it was opened.
public final class FileContent: Sendable {
    /// The open file; closed when the last reference is released, unless it belongs to another object.
    public let descriptor: Int32
    /// Bytes to send: the size at opening (`fstat`). Bytes appended later are not sent.
    public let byteCount: Int64

    private let owner: (any AnyObject & Sendable)?
    private let checkUnchanged: @Sendable () -> Bool

    /// Takes over an open, seekable descriptor.
    public init(owning descriptor: Int32, byteCount: Int64) {
        self.descriptor = descriptor
        self.byteCount = byteCount
        owner = nil
        checkUnchanged = { true }
    }

    /// Uses the descriptor of an object, which keeps it open while it exists. `checkUnchanged` is the source of
    /// `isUnchanged`.
    public init(
        sharing descriptor: Int32,
        of owner: any AnyObject & Sendable,
        byteCount: Int64,
        checkUnchanged: @escaping @Sendable () -> Bool = { true }
    ) {
        self.descriptor = descriptor
        self.byteCount = byteCount
        self.owner = owner
        self.checkUnchanged = checkUnchanged
    }

    /// Whether the file is unchanged since it was opened, as far as that can be checked without reading it.
    public var isUnchanged: Bool { checkUnchanged() }

    deinit {
        if owner == nil { close(descriptor) }
    }

    /// Reads at an offset, never beyond `byteCount`.
    ///
    /// - Returns: Bytes read, at least 1 if any remain.
    public func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(FileContentError) -> Int {
        let wanted = Int(min(Int64(buffer.count), byteCount - offset))
        guard wanted > 0 else { return 0 }
        let count: Int
        do {
            let window = UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
            count = try FileBytes.read(descriptor, at: offset, into: window)
        } catch {
            throw .unreadable(errno: error.code)
        }
        guard count > 0 else { throw .shrank(expected: byteCount, actual: offset) }
        return count
    }
}

/// Why a file could not be read to its measured length.
public enum FileContentError: Error, Sendable, Equatable {
    /// The file became shorter while it was being sent. Lengths are in bytes.
    case shrank(expected: Int64, actual: Int64)
    /// The read failed.
    case unreadable(errno: Int32)
}
