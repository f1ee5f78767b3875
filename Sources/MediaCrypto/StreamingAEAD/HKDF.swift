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
        var derived = [UInt8](repeating: 0, count: byteCount)
        let isDerived = copenssl_hkdf_sha256(
            key,
            key.count,
            salt,
            salt.count,
            info,
            info.count,
            &derived,
            byteCount
        )
        guard isDerived == 1 else { throw .fromOpenSSL("cannot derive a key") }
        return derived
    }
}
