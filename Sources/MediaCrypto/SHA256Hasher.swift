internal import COpenSSL

/// SHA-256 over bytes that come in pieces. Not thread-safe; one owner.
public struct SHA256Hasher: ~Copyable {
    /// An `EVP_MD_CTX`, owned: made in `init`, freed in `deinit`, never handed out.
    private let context: OpaquePointer
    /// The first failure; reported by `snapshot` so that the hot path need not throw.
    private var failure: CryptoError?

    /// Starts a digest.
    ///
    /// - Throws: `CryptoError` when OpenSSL cannot provide the algorithm.
    public init() throws(CryptoError) {
        guard let context = EVP_MD_CTX_new() else { throw .fromOpenSSL("no memory for a digest") }
        guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else {
            EVP_MD_CTX_free(context)
            throw .fromOpenSSL("cannot start SHA-256")
        }
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// Adds bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let start = bytes.baseAddress, failure == nil else { return }
        if EVP_DigestUpdate(context, start, bytes.count) != 1 {
            failure = .fromOpenSSL("cannot continue SHA-256")
        }
    }

    /// Forgets everything added.
    public mutating func reset() {
        let restarted = EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1
        failure = restarted ? nil : .fromOpenSSL("cannot start SHA-256")
    }

    /// The digest of everything added so far; more may follow.
    ///
    /// - Throws: `CryptoError` when OpenSSL failed here or in an earlier step.
    public func snapshot() throws(CryptoError) -> SHA256Digest {
        if let failure { throw failure }
        // Finalising ends a context, so that happens to a copy.
        guard let copy = EVP_MD_CTX_new() else { throw .fromOpenSSL("no memory for a digest") }
        defer { EVP_MD_CTX_free(copy) }
        var bytes = [UInt8](repeating: 0, count: 32)
        guard EVP_MD_CTX_copy_ex(copy, context) == 1, EVP_DigestFinal_ex(copy, &bytes, nil) == 1 else {
            throw .fromOpenSSL("cannot finish SHA-256")
        }
        return SHA256Digest(bytes: bytes)
    }
}
