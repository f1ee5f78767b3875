internal import COpenSSL

/// A P-256 public key (FIPS 186-4).
public struct VerifyingKey: Sendable, Equatable {
    /// SEC 1, uncompressed: 65 bytes.
    public let sec1: [UInt8]

    /// Takes an uncompressed point.
    ///
    /// - Parameter sec1: 65 bytes, the first of them 4 (SEC 1 section 2.3.3).
    /// - Throws: `CryptoError` for anything that is no point of the curve.
    public init(sec1: [UInt8]) throws(CryptoError) {
        guard sec1.count == 65, sec1.first == 4 else {
            throw CryptoError("a P-256 public key has 65 bytes, the first of them 4")
        }
        self.sec1 = sec1
        // OpenSSL takes points of the curve only.
        _ = try evpKey()
    }

    /// Reads a SubjectPublicKeyInfo (RFC 5280) in PEM, as `openssl pkey -pubout` writes it.
    ///
    /// - Parameter pem: `-----BEGIN PUBLIC KEY-----` and so on.
    /// - Throws: `CryptoError` for anything but a P-256 key.
    public init(pem: [UInt8]) throws(CryptoError) {
        let block = try PEMBlock.first(in: pem)
        guard block.label == "PUBLIC KEY" else {
            throw CryptoError("not a public key: the file holds \"\(block.label)\"")
        }
        let key = try block.parse("a public key") { position, count in d2i_PUBKEY(nil, position, count) }
        sec1 = try key.sec1()
    }

    /// Of a key of OpenSSL's, already checked to be of P-256.
    init(_ key: borrowing EVPKey) throws(CryptoError) {
        sec1 = try key.sec1()
    }

    /// The key as SubjectPublicKeyInfo in PEM; `openssl pkey -pubin` reads it.
    ///
    /// - Returns: ASCII, ending with a line feed.
    /// - Throws: `CryptoError` when memory is short.
    public func pem() throws(CryptoError) -> [UInt8] {
        let key = try evpKey()
        return try MemoryOutput.bytes("cannot write a public key") { PEM_write_bio_PUBKEY($0, key.pointer) }
    }

    /// Whether this is the ECDSA-SHA256 signature of a message.
    ///
    /// - Parameters:
    ///   - signature: 64 bytes r‖s, or DER.
    ///   - message: Hashed here.
    /// - Returns: True only for a signature that was made with this key's private half.
    public func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let der = ECDSASignature.der(from: signature), let key = try? evpKey(),
            let context = EVP_MD_CTX_new()
        else { return false }
        defer {
            EVP_MD_CTX_free(context)
            // A signature that does not fit leaves its reason in OpenSSL's list.
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, key.pointer, nil) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    private func evpKey() throws(CryptoError) -> EVPKey {
        guard let key = copenssl_p256_public_key(sec1, sec1.count) else { throw .fromOpenSSL("not a point of P-256") }
        return EVPKey(owning: key)
    }
}
