import MediaCrypto
import TestSupport

/// Sealing and opening in memory, for tests.
enum SealedBytes {
    static let key = StreamingAEAD.Key(Array(1...32))
    static let associatedData = Array("capture|media".utf8)

    /// Created once, because that takes longer than encrypting it.
    static let sample = randomBytes(5_000_000)

    /// The first bytes of the sample.
    static func plaintext(_ count: Int) -> [UInt8] { Array(sample[..<count]) }

    /// Plaintext bytes in the first segment, and in each later one.
    static let first = (1 << 20) - 40 - 16
    static let other = (1 << 20) - 16

    /// Seals bytes given in chunks.
    static func seal(
        _ plaintext: [UInt8],
        key: StreamingAEAD.Key? = key,
        associatedData: [UInt8] = associatedData,
        chunk: Int = 1 << 20
    ) throws -> [UInt8] {
        var sealed: [UInt8] = []
        try withUnsafeMutablePointer(to: &sealed) { sealed in
            var encryptor = try StreamingAEAD.Encryptor(key: key ?? .generate(), associatedData: associatedData) {
                sealed.pointee.append(contentsOf: $0)
            }
            try plaintext.withUnsafeBytes { bytes in
                for start in stride(from: 0, to: bytes.count, by: chunk) {
                    try encryptor.update(
                        UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + chunk, bytes.count)])
                    )
                }
            }
            try encryptor.finish()
        }
        return sealed
    }

    /// Decrypts bytes read in pieces of at most `chunk`.
    /// - Returns: The plaintext returned, and the error that stopped it.
    static func open(
        _ sealed: [UInt8],
        key: StreamingAEAD.Key? = key,
        associatedData: [UInt8] = associatedData,
        chunk: Int = 1 << 30
    ) -> (plaintext: [UInt8], error: (any Error)?) {
        var plaintext: [UInt8] = []
        var position = 0
        do {
            try StreamingAEAD.decrypt(key: key ?? .generate(), associatedData: associatedData) { buffer in
                let count = min(buffer.count, chunk, sealed.count - position)
                buffer.copyBytes(from: sealed[position..<position + count])
                position += count
                return count
            } _: {
                plaintext.append(contentsOf: $0)
            }
            return (plaintext, nil)
        } catch {
            return (plaintext, error)
        }
    }
}

/// Whether both are equal; compare the result with `true`. A failed expectation about the arguments would describe
/// megabytes of bytes, which takes minutes.
func areEqual(_ bytes: [UInt8], _ others: [UInt8]) -> Bool { bytes == others }
