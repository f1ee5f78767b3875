/// SHA-1 and SHA-256 of a file, made in one reading.
public struct FileDigests: Sendable, Equatable {
    /// 20 bytes.
    public let sha1: [UInt8]
    /// The same bytes by SHA-256.
    public let sha256: SHA256Digest

    /// The SHA-1 digest as 40 lower-case hexadecimal characters.
    public var sha1Hex: String { HexText.lowerCase(sha1) }

    /// The digests of the first bytes of an open file, read with `pread` on a thread of its own; the file offset stays.
    ///
    /// Cancelling ends the reading after at most one block of 1 MiB and throws `CancellationError`.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading; it must stay open until this returns.
    ///   - byteCount: How many bytes, from the start.
    /// - Returns: The digests of exactly `byteCount` bytes.
    /// - Throws: `CryptoError`, with `systemError` when reading failed; also when the file ends before `byteCount`.
    public static func ofFile(descriptor: Int32, byteCount: Int64) async throws -> FileDigests {
        try await FileReading.onOwnThread { isCancelled in
            var sha1 = try DigestContext(.sha1)
            var sha256 = try DigestContext(.sha256)
            try FileReading.read(descriptor, from: 0, byteCount: byteCount) { block in
                if isCancelled() { throw CancellationError() }
                sha1.update(block)
                sha256.update(block)
            }
            return FileDigests(sha1: try sha1.snapshot(), sha256: SHA256Digest(bytes: try sha256.snapshot()))
        }
    }
}
