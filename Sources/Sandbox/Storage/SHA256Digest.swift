import COpenSSL
import NIOCore

/// A running SHA-256 over OpenSSL.
struct SHA256Digest: ~Copyable {
    /// Owned by this value alone: made in `init`, freed in `deinit`, never handed out.
    private let context: OpaquePointer?

    init() {
        context = EVP_MD_CTX_new()
        EVP_DigestInit_ex(context, EVP_sha256(), nil)
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// The bytes are read during the call only.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// The digest in lower-case hex.
    consuming func finish() -> String {
        var digest = [UInt8](repeating: 0, count: 32)
        EVP_DigestFinal_ex(context, &digest, nil)
        return hexString(digest)
    }

    /// Digest of a short text.
    static func hex(of text: String) -> String {
        var digest = SHA256Digest()
        Array(text.utf8).withUnsafeBytes { digest.update($0) }
        return digest.finish()
    }
}

/// Lower-case hex.
func hexString(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}
