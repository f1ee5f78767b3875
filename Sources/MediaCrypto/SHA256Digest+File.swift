extension SHA256Digest {
    /// The digest of the first bytes of an open file, read with `pread` on a thread of its own; the file offset stays.
    ///
    /// Cancelling ends the reading after at most one block of 1 MiB and throws `CancellationError`.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading; it must stay open until this returns.
    ///   - byteCount: How many bytes, from the start.
    /// - Returns: The digest of exactly `byteCount` bytes.
    /// - Throws: `CryptoError`, with `systemError` when reading failed; also when the file ends before `byteCount`.
    public static func ofFile(descriptor: Int32, byteCount: Int64) async throws -> SHA256Digest {
        SHA256Digest(bytes: try await DigestAlgorithm.sha256.digest(ofFile: descriptor, byteCount: byteCount))
    }
}
