import COpenSSL

/// A public key in OpenSSL's hands.
struct PublicKey: ~Copyable {
    /// An `EVP_PKEY`, owned: made in `init`, freed in `deinit`, never handed out.
    private let key: OpaquePointer

    /// Reads SubjectPublicKeyInfo; nil when OpenSSL refuses it, as it does a point that is not on its curve.
    init?(der: [UInt8]) {
        let made: OpaquePointer? = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_PUBKEY(nil, &start, bytes.count)
        }
        ERR_clear_error()
        guard let made else { return nil }
        key = made
    }

    deinit { EVP_PKEY_free(key) }

    /// Whether a signature with SHA-256 holds: ECDSA in DER, or RSASSA-PKCS1-v1_5.
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let context = EVP_MD_CTX_new() else { return false }
        defer {
            EVP_MD_CTX_free(context)
            ERR_clear_error()
        }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
