/// AES256_GCM_HKDF_1MB, the streaming format of Tink. Whoever has the 32-byte key and the associated data can read it with
/// Tink (`AesGcmHkdfStreamingKey` version 0, derived key size 32, SHA256, ciphertext segment size 1 MiB; output prefix
/// RAW).
///
/// A ciphertext is a header and at least one segment:
///
///     header   40 (one byte: the header's length) ‖ salt (32) ‖ nonce prefix (7)
///     segment  AES-256-GCM of up to 1 MiB − 16 bytes of plaintext ‖ tag (16)
///
/// - The AES key is HKDF-SHA256 (RFC 5869) of the key, with the salt as salt and the associated data as info: 32 bytes.
/// - The nonce of a segment is nonce prefix ‖ its number from 0 on (4 bytes, big-endian) ‖ 1 for the last segment, else 0.
///   GCM gets no associated data. So no segment can be changed, moved, left out or added, and the end cannot be cut off.
/// - Every segment with all before it, the header included, ends at a multiple of 1 MiB, except the last, which may be
///   shorter: the first holds 40 bytes less. Only an empty plaintext has an empty segment.
package enum StreamingAEAD {
    /// Bytes of a segment with its tag, and of the first with header and tag.
    static let segmentByteCount = 1 << 20
    static let tagByteCount = 16
    static let headerByteCount = 40
    static let saltByteCount = 32

    /// Bytes of the ciphertext of so many bytes of plaintext.
    ///
    /// - Parameter plaintextByteCount: Not negative.
    /// - Returns: The exact size, header and tags included.
    package static func ciphertextByteCount(of plaintextByteCount: Int64) -> Int64 {
        let room = Int64(segmentByteCount - tagByteCount)
        let segments = max(1, (Int64(headerByteCount) + plaintextByteCount + room - 1) / room)
        return Int64(headerByteCount) + plaintextByteCount + segments * Int64(tagByteCount)
    }

    /// A 32-byte key. Its description shows nothing of it.
    package struct Key: Sendable, CustomStringConvertible, CustomReflectable {
        let bytes: [UInt8]

        /// Takes 32 bytes; nil for any other count.
        package init?(_ bytes: [UInt8]) {
            guard bytes.count == 32 else { return nil }
            self.bytes = bytes
        }

        private init(random: Void) throws(CryptoError) {
            bytes = try CryptoRandom.bytes(32)
        }

        /// A new one from the system's generator.
        ///
        /// - Returns: A key that nobody else has.
        /// - Throws: `CryptoError` when there is no randomness.
        package static func generate() throws(CryptoError) -> Key {
            try Key(random: ())
        }

        /// Calls `body` with the bytes. Secret.
        package func withBytes<Value>(_ body: ([UInt8]) throws -> Value) rethrows -> Value { try body(bytes) }

        /// Without the bytes.
        package var description: String { "key" }
        /// Without the bytes, so that `dump` does not show them either.
        package var customMirror: Mirror { Mirror(self, children: []) }
    }
}
