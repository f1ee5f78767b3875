/// The digests that this library can compute.
public enum DigestAlgorithm: Sendable, CaseIterable {
    /// SHA-256 (FIPS 180-4), 32 bytes.
    case sha256
    /// SHA-1 (FIPS 180-4), 20 bytes. Broken as proof of identity; enough to notice damage on the way.
    case sha1

    var name: String {
        switch self {
        case .sha256: "SHA-256"
        case .sha1: "SHA-1"
        }
    }

    /// The digest of a piece of an open file, read with `pread` on a thread of its own; the file offset stays.
    ///
    /// Cancelling ends the reading after at most one block of 1 MiB and throws `CancellationError`.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading; it must stay open until this returns.
    ///   - offset: Where the piece begins, in bytes.
    ///   - byteCount: Its length in bytes.
    /// - Returns: The digest of exactly these bytes.
    /// - Throws: `CryptoError`, with `systemError` when reading failed; also when the file ends early.
    public func digest(ofFile descriptor: Int32, from offset: Int64 = 0, byteCount: Int64) async throws -> [UInt8] {
        try await FileReading.onOwnThread { isCancelled in
            var context = try DigestContext(self)
            try FileReading.read(descriptor, from: offset, byteCount: byteCount) { block in
                if isCancelled() { throw CancellationError() }
                context.update(block)
            }
            return try context.snapshot()
        }
    }
}
