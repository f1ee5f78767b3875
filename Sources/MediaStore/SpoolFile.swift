/// Standard input, spooled to the data directory so that its length is known and it can be read again.
public final class SpoolFile: Sendable {
    /// The open file, positioned anywhere; read it with `pread`.
    public let descriptor: Int32
    /// Length in bytes.
    public let byteCount: Int64
    /// Where it lies.
    public let path: String

    /// Copies a descriptor to its end in bounded memory.
    ///
    /// - Parameters:
    ///   - input: What is read, usually 0.
    ///   - limit: The largest length worth keeping; a longer input fails.
    ///   - reserve: Bytes that must stay free on the disk.
    ///   - isCancelled: Asked between blocks.
    /// - Throws: `StoreError` (`.full`, `.notWritable`), `SpoolError`. Nothing is left behind on failure.
    public init(
        copying input: Int32, to directory: DataDirectory, limit: Int64, reserve: Int64 = 64 << 20,
        isCancelled: () -> Bool
    ) throws {
        descriptor = -1
        byteCount = 0
        path = ""
    }

    /// Removes the file. Also done when the last reference goes.
    public func remove() {}

    /// Removes what dead processes left. A file whose process lives is locked and stays.
    public static func sweep(in directory: DataDirectory) {}
}

/// Why an input was not spooled.
public enum SpoolError: Error, Sendable, Equatable {
    /// More than the limit.
    case tooLarge(limit: Int64)
    /// The input could not be read.
    case unreadable(errno: Int32)
    /// The caller gave up.
    case cancelled
}
