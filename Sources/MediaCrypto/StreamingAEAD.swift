/// AES256_GCM_HKDF_1MB, the streaming format of Tink: segments of 1 MiB, each sealed by AES-256-GCM with a key derived by
/// HKDF-SHA256 from the file's salt and associated data. Whoever has the 32-byte key and the associated data can read it
/// with Tink (RAW output prefix).
public enum StreamingAEAD {
    /// A 32-byte key. Its description shows nothing of it.
    public struct Key: Sendable, CustomStringConvertible, CustomReflectable {
        let bytes: [UInt8]

        /// Takes 32 bytes; nil for any other count.
        public init?(_ bytes: [UInt8]) {
            guard bytes.count == 32 else { return nil }
            self.bytes = bytes
        }

        /// A new one from the system's generator.
        ///
        /// - Throws: `CryptoError` when there is no randomness.
        public static func generate() throws(CryptoError) -> Key {
            throw CryptoError("not built yet")
        }

        /// Calls `body` with the bytes. Secret.
        public func withBytes<Value>(_ body: ([UInt8]) throws -> Value) rethrows -> Value { try body(bytes) }

        /// Without the bytes.
        public var description: String { "key" }
        /// Without the bytes, so that `dump` does not show them either.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// Seals bytes that come in pieces. One owner.
    public struct Encryptor: ~Copyable {
        /// Starts a ciphertext.
        ///
        /// - Parameters:
        ///   - key: The key.
        ///   - associatedData: Must be the same for reading.
        ///   - write: Gets the ciphertext piece by piece; valid during the call only.
        /// - Throws: `CryptoError`, and what `write` throws.
        public init(
            key: Key,
            associatedData: [UInt8],
            write: @escaping (UnsafeRawBufferPointer) throws -> Void
        ) throws {
            throw CryptoError("not built yet")
        }

        /// Adds plaintext.
        public mutating func update(_ bytes: UnsafeRawBufferPointer) throws {}

        /// Seals the last segment. Nothing may follow.
        public mutating func finish() throws {}
    }

    /// Opens a ciphertext. Plaintext is given out only in segments that were authenticated; all of it is right only when
    /// this returns.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - associatedData: As when it was sealed.
    ///   - read: Fills a buffer and returns how many bytes, 0 at the end.
    ///   - body: Gets the plaintext; valid during the call only.
    /// - Throws: `CryptoError` `.isDamaged` for a wrong key, wrong associated data, and anything that was changed, cut off
    ///   or added; what `read` and `body` throw.
    public static func decrypt(
        key: Key,
        associatedData: [UInt8],
        read: (UnsafeMutableRawBufferPointer) throws -> Int,
        _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        throw CryptoError("not built yet")
    }
}
