import CLibcrypto
import NIOCore

/// A running digest over OpenSSL.
struct Digest: ~Copyable {
    enum Algorithm: String, Sendable, CaseIterable {
        case sha1
        case sha256

        fileprivate var function: OpaquePointer? {
            switch self {
            case .sha1: EVP_sha1()
            case .sha256: EVP_sha256()
            }
        }
    }

    private let algorithm: Algorithm
    /// Owned by this value alone: made in `init`, freed in `deinit`, never handed out.
    private let context: OpaquePointer?

    init(_ algorithm: Algorithm = .sha256) {
        self.algorithm = algorithm
        context = EVP_MD_CTX_new()
        EVP_DigestInit_ex(context, algorithm.function, nil)
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// The bytes are read during the call only.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    }

    /// The digest's bytes.
    consuming func finish() -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        var count: UInt32 = 0
        EVP_DigestFinal_ex(context, &digest, &count)
        return Array(digest.prefix(Int(count)))
    }

    /// SHA-256 of a short text in hex.
    static func hex(of text: String) -> String {
        hexString(sha256(Array(text.utf8)))
    }

    /// SHA-256 of a few bytes.
    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = Digest()
        bytes.withUnsafeBytes { digest.update($0) }
        return digest.finish()
    }
}
