internal import MediaCore

/// SHA-1 and SHA-256 of a file, made in one reading.
package struct FileDigests: Sendable, Equatable {
    /// 20 bytes.
    package let sha1: [UInt8]
    /// The same bytes by SHA-256.
    package let sha256: SHA256Digest

    /// The SHA-1 digest as 40 lower-case hexadecimal characters.
    package var sha1Hex: String { HexText.lowerCase(sha1) }

    /// Reads the first bytes of an open file with `pread` on this very thread; the file offset stays.
    ///
    /// - Parameters:
    ///   - descriptor: Open for reading.
    ///   - byteCount: How many bytes, from the start.
    ///   - onBlock: Called before each block of at most 1 MiB is taken in; an error that it throws ends the reading.
    /// - Throws: What `onBlock` throws; `CryptoError`, with `systemError` when reading failed; also when the file ends before
    ///   `byteCount`.
    package init(ofFile descriptor: Int32, byteCount: Int64, onBlock: () throws -> Void) throws {
        var sha1 = try DigestContext(.sha1)
        var sha256 = try DigestContext(.sha256)
        try FileReading.read(descriptor, from: 0, byteCount: byteCount) { block in
            try onBlock()
            sha1.update(block)
            sha256.update(block)
        }
        self.sha1 = try sha1.snapshot()
        self.sha256 = SHA256Digest(bytes: try sha256.snapshot())
    }
}
