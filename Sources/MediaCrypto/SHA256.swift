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

    /// 64 lowercase hexadecimal characters.
    public var hex: String { HexText.lowerCase(bytes) }

    public var description: String { hex }
}

/// SHA-256 of bytes that arrive in pieces. Not thread-safe; one owner.
package struct SHA256Hasher: ~Copyable {
    private var context: DigestContext

    package init() throws(CryptoError) {
        context = try DigestContext(.sha256)
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        context.update(bytes)
    }

    package mutating func reset() {
        context.reset()
    }

    /// Copies the state of another hasher, which stays usable.
    package mutating func resume(from other: borrowing SHA256Hasher) {
        context.resume(from: other.context)
    }

    /// The digest of everything added so far; more may follow. Throws even if it was an earlier step that failed.
    package func snapshot() throws(CryptoError) -> SHA256Digest {
        SHA256Digest(bytes: try context.snapshot())
    }
}

extension SHA256Digest {
    /// The digest of the first bytes of an open file, read with `pread` on its own thread; the file offset does not
    /// change.
    ///
    /// Canceling stops the reading after at most one block of 1 MiB and throws `CancellationError`. `descriptor` must
    /// stay open until this returns.
    ///
    /// - Throws: `CryptoError`, with `systemError` if reading failed; also thrown if the file ends before `byteCount`.
    public static func ofFile(descriptor: Int32, byteCount: Int64) async throws -> SHA256Digest {
        SHA256Digest(bytes: try await DigestAlgorithm.sha256.digest(ofFile: descriptor, byteCount: byteCount))
    }
}
