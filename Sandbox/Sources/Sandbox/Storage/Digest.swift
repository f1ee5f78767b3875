import CLibcrypto

/// SHA-256, computed by OpenSSL.
struct Digest: ~Copyable {
    /// Owned by this value alone: created in `init`, freed in `deinit`, never handed out.
    private let context: OpaquePointer?

    init() {
        context = EVP_MD_CTX_new()
        EVP_DigestInit_ex(context, EVP_sha256(), nil)
    }

    deinit { EVP_MD_CTX_free(context) }

    mutating func update(_ bytes: UnsafeRawBufferPointer) { EVP_DigestUpdate(context, bytes.baseAddress, bytes.count) }

    consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        EVP_DigestFinal_ex(context, &digest, &count)
        return Array(digest.prefix(Int(count)))
    }

    static func hex(of text: String) -> String { hexString(sha256(Array(text.utf8))) }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = Digest()
        bytes.withUnsafeBytes { digest.update($0) }
        return digest.finish()
    }
}
