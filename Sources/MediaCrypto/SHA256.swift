internal import MediaCore

/// A SHA-256 digest (FIPS 180-4).
public struct SHA256Digest: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the hexadecimal form in either case; nil unless it is exactly 64 digits.
    public init?(hex: String) {
        guard hex.utf8.count == 64, let bytes = HexText.bytes(hex) else { return nil }
        self.bytes = bytes
    }

    /// 64 lower-case hexadecimal characters.
    public var hex: String { HexText.lowerCase(bytes) }

    /// The hexadecimal form.
    public var description: String { hex }
}

/// SHA-256 over bytes that come in pieces. Not thread-safe; one owner.
package struct SHA256Hasher: ~Copyable {
    private var context: DigestContext

    /// Starts a digest.
    ///
    /// - Throws: `CryptoError` when OpenSSL cannot provide the algorithm.
    package init() throws(CryptoError) {
        context = try DigestContext(.sha256)
    }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        context.update(bytes)
    }

    /// Forgets everything added.
    package mutating func reset() {
        context.reset()
    }

    /// Takes over the state of another digest, which goes on by itself.
    package mutating func resume(from other: borrowing SHA256Hasher) {
        context.resume(from: other.context)
    }

    /// The digest of everything added so far; more may follow.
    ///
    /// - Throws: `CryptoError` when OpenSSL failed here or in an earlier step.
    package func snapshot() throws(CryptoError) -> SHA256Digest {
        SHA256Digest(bytes: try context.snapshot())
    }
}

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
