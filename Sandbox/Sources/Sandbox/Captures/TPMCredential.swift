import CLibcrypto

/// A secret encrypted to an endorsement key and bound to the name of another key of the same TPM, like the result of
/// TPM2_MakeCredential (TPM 2.0 part 1 section 24 and annexes B.10.3, C.6.1). The endorsement key has one of the
/// default templates (TCG EK Credential Profile): SHA-256 names, AES-128 in CFB mode.
struct TPMCredential {
    /// TPM2B_ID_OBJECT.
    let idObject: [UInt8]
    /// TPM2B_ENCRYPTED_SECRET.
    let encryptedSecret: [UInt8]

    /// Nil unless the key is RSA or P-256. A secret has at most 32 bytes.
    init?(_ secret: [UInt8], for name: [UInt8], to key: borrowing PublicKey) {
        guard let (seed, encrypted) = Self.seed(for: key) else { return nil }
        let symmetricKey = TPMDerivation.kdfA(seed, "STORAGE", name, byteCount: 16)
        guard let identity = Self.encrypt(Self.sized(secret), symmetricKey) else { return nil }
        let integrityKey = TPMDerivation.kdfA(seed, "INTEGRITY", [], byteCount: 32)
        let integrity = TPMDerivation.hmac(integrityKey, identity + name)
        idObject = Self.sized(Self.sized(integrity) + identity)
        encryptedSecret = Self.sized(encrypted)
    }

    /// A TPM2B.
    private static func sized(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8(bytes.count >> 8 & 0xFF), UInt8(bytes.count & 0xFF)] + bytes
    }

    /// A new seed, in plaintext and encrypted to the key.
    private static func seed(for key: borrowing PublicKey) -> (seed: [UInt8], encrypted: [UInt8])? {
        if key.isRSA {
            let seed = randomBytes(32)
            return key.encryptOAEP(seed, label: Array("IDENTITY".utf8) + [0]).map { (seed, $0) }
        }
        guard let point = key.p256Point, let exchange = key.exchange() else { return nil }
        let (x, y) = (Array(exchange.point[1..<33]), Array(exchange.point[33..<65]))
        let seed = TPMDerivation.kdfE(exchange.secret, "IDENTITY", x, Array(point[1..<33]))
        return (seed, sized(x) + sized(y))
    }

    /// AES-128 in CFB mode with an all-zero initialization vector.
    private static func encrypt(_ bytes: [UInt8], _ key: [UInt8]) -> [UInt8]? {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        defer {
            EVP_CIPHER_CTX_free(context)
            ERR_clear_error()
        }
        let zero = [UInt8](repeating: 0, count: 16)
        var encrypted = [UInt8](repeating: 0, count: bytes.count)
        var count: Int32 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_128_cfb128(), nil, key, zero) == 1,
            EVP_EncryptUpdate(context, &encrypted, &count, bytes, Int32(bytes.count)) == 1, Int(count) == bytes.count
        else { return nil }
        return encrypted
    }
}

/// Key derivation of TPM 2.0 part 1 section 11.4.10 with SHA-256, up to one block of output.
enum TPMDerivation {
    /// HMAC of counter, label, name and bits.
    static func kdfA(_ key: [UInt8], _ label: String, _ context: [UInt8], byteCount: Int) -> [UInt8] {
        let bits = byteCount * 8
        let message =
            [0, 0, 0, 1] + Array(label.utf8) + [0] + context + [0, 0, UInt8(bits >> 8 & 0xFF), UInt8(bits & 0xFF)]
        return Array(hmac(key, message).prefix(byteCount))
    }

    /// Digest of counter, shared secret, label, and x of both parties; 32 bytes.
    static func kdfE(_ secret: [UInt8], _ label: String, _ ephemeral: [UInt8], _ recipient: [UInt8]) -> [UInt8] {
        Digest.sha256([0, 0, 0, 1] + secret + Array(label.utf8) + [0] + ephemeral + recipient)
    }

    /// RFC 2104 with SHA-256; keys of up to 64 bytes.
    static func hmac(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        let block = key + [UInt8](repeating: 0, count: 64 - key.count)
        return Digest.sha256(block.map { $0 ^ 0x5C } + Digest.sha256(block.map { $0 ^ 0x36 } + message))
    }
}
