internal import COpenSSL

/// A block of a PEM file (RFC 7468): its label, and the DER inside.
///
/// The bytes may be a secret: they are overwritten when the block goes.
struct PEMBlock: ~Copyable {
    /// As `PRIVATE KEY`.
    let label: String
    private let bytes: UnsafeMutablePointer<UInt8>
    private let count: Int

    private init(label: String, bytes: UnsafeMutablePointer<UInt8>, count: Int) {
        self.label = label
        self.bytes = bytes
        self.count = count
    }

    deinit {
        CRYPTO_clear_free(bytes, count, nil, 0)
    }

    /// The first block of a text; what stands before and behind it is not looked at.
    ///
    /// - Throws: `CryptoError` when there is none.
    static func first(in pem: [UInt8]) throws(CryptoError) -> PEMBlock {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        let isRead = pem.withUnsafeBytes { text in
            guard let input = BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count)) else { return false }
            defer { BIO_free(input) }
            return PEM_read_bio(input, &name, &header, &bytes, &count) == 1
        }
        defer {
            CRYPTO_free(name, nil, 0)
            CRYPTO_free(header, nil, 0)
        }
        guard isRead, let name, let bytes else { throw .fromOpenSSL("not a PEM file") }
        return PEMBlock(label: String(cString: name), bytes: bytes, count: count)
    }

    /// Reads the DER to its last byte.
    ///
    /// - Parameters:
    ///   - wanted: What it should hold, for the error.
    ///   - read: One of OpenSSL's `d2i` functions.
    /// - Returns: The key.
    /// - Throws: `CryptoError` when it holds something else, or more.
    func parse(
        _ wanted: String,
        _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
    ) throws(CryptoError) -> EVPKey {
        var position: UnsafePointer<UInt8>? = UnsafePointer(bytes)
        guard let pointer = read(&position, count) else { throw .fromOpenSSL("not \(wanted)") }
        let key = EVPKey(owning: pointer)
        guard position == UnsafePointer(bytes + count) else { throw CryptoError("not \(wanted): too long") }
        return key
    }
}
