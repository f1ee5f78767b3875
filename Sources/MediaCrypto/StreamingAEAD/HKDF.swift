internal import COpenSSL

/// HKDF (RFC 5869).
enum HKDF {
    /// Extract and expand with SHA-256.
    ///
    /// - Throws: `CryptoError` when OpenSSL refuses.
    static func sha256(
        key: [UInt8],
        salt: [UInt8],
        info: [UInt8],
        byteCount: Int
    ) throws(CryptoError) -> [UInt8] {
        guard let algorithm = EVP_KDF_fetch(nil, "HKDF", nil) else { throw .fromOpenSSL("no HKDF") }
        defer { EVP_KDF_free(algorithm) }
        guard let context = EVP_KDF_CTX_new(algorithm) else { throw .fromOpenSSL("no memory for a key") }
        defer { EVP_KDF_CTX_free(context) }
        // OpenSSL's parameters want pointers to what may change, and change nothing.
        var (digest, key, salt, info) = (Array("SHA256".utf8CString), key, salt, info)
        defer { OPENSSL_cleanse(&key, key.count) }
        var derived = [UInt8](repeating: 0, count: byteCount)
        let isDerived = digest.withUnsafeMutableBufferPointer { digest in
            key.withUnsafeMutableBytes { key in
                salt.withUnsafeMutableBytes { salt in
                    info.withUnsafeMutableBytes { info in
                        let parameters = [
                            OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.baseAddress, 0),
                            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, key.baseAddress, key.count),
                            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.baseAddress, salt.count),
                            OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.baseAddress, info.count),
                            OSSL_PARAM_construct_end(),
                        ]
                        return EVP_KDF_derive(context, &derived, byteCount, parameters) == 1
                    }
                }
            }
        }
        guard isDerived else { throw .fromOpenSSL("cannot derive a key") }
        return derived
    }
}
