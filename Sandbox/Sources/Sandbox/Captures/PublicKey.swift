import CLibcrypto
import Foundation

/// An OpenSSL public key.
struct PublicKey: ~Copyable {
    /// An `EVP_PKEY`, owned: created in `init`, freed in `deinit`, never handed out.
    private let key: OpaquePointer

    /// Reads a SubjectPublicKeyInfo; nil if OpenSSL refuses it, for example because its point is not on the curve.
    init?(der: [UInt8]) {
        let made: OpaquePointer? = der.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_PUBKEY(nil, &start, bytes.count)
        }
        ERR_clear_error()
        guard let made else { return nil }
        key = made
    }

    init(owning key: OpaquePointer) { self.key = key }

    deinit { EVP_PKEY_free(key) }

    var isRSA: Bool { EVP_PKEY_is_a(key, "RSA") == 1 }

    /// SEC 1, uncompressed; nil for anything but a P-256 key.
    var p256Point: [UInt8]? { EVP_PKEY_is_a(key, "EC") == 1 ? Self.point(of: key) : nil }

    private static func point(of key: OpaquePointer) -> [UInt8]? {
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = EVP_PKEY_get1_encoded_public_key(key, &encoded)
        defer { CRYPTO_free(encoded, nil, 0) }
        guard count == 65, let encoded else { return nil }
        return P256PublicKey(point: Array(UnsafeBufferPointer(start: encoded, count: count)))?.point
    }

    /// RSAES-OAEP with SHA-256 and a label (RFC 8017); nil if OpenSSL fails.
    func encryptOAEP(_ message: [UInt8], label: [UInt8]) -> [UInt8]? {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, key, nil) else { return nil }
        defer {
            EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        var count = 0
        guard EVP_PKEY_encrypt_init(context) == 1,
            EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_OAEP_PADDING) == 1,
            EVP_PKEY_CTX_set_rsa_oaep_md(context, EVP_sha256()) == 1,
            let copy = CRYPTO_memdup(label, label.count, nil, 0)
        else { return nil }
        // The context owns the copy after success.
        guard EVP_PKEY_CTX_set0_rsa_oaep_label(context, copy, Int32(label.count)) == 1 else {
            CRYPTO_free(copy, nil, 0)
            return nil
        }
        guard EVP_PKEY_encrypt(context, nil, &count, message, message.count) == 1 else { return nil }
        var encrypted = [UInt8](repeating: 0, count: count)
        guard EVP_PKEY_encrypt(context, &encrypted, &count, message, message.count) == 1 else { return nil }
        return Array(encrypted[..<count])
    }

    /// ECDH of a new P-256 key with this key (SP 800-56A): x of the shared point, and the point of the new key.
    func exchange() -> (secret: [UInt8], point: [UInt8])? {
        defer { ERR_clear_error() }
        guard let maker = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { return nil }
        defer { EVP_PKEY_CTX_free(maker) }
        var made: OpaquePointer?
        guard EVP_PKEY_keygen_init(maker) == 1, EVP_PKEY_CTX_set_group_name(maker, "P-256") == 1,
            EVP_PKEY_generate(maker, &made) == 1, let made
        else { return nil }
        defer { EVP_PKEY_free(made) }
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, made, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var secret = [UInt8](repeating: 0, count: 32)
        var count = secret.count
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, key) == 1,
            EVP_PKEY_derive(context, &secret, &count) == 1, count == 32, let point = Self.point(of: made)
        else { return nil }
        return (secret, point)
    }

    /// Whether a signature with SHA-256 is valid: ECDSA in DER, or RSASSA-PKCS1-v1_5.
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

/// A P-256 public key, verified to be a point on the curve.
struct P256PublicKey: Sendable, Equatable, Codable {
    /// SEC 1, uncompressed: 65 bytes.
    let point: [UInt8]

    /// SubjectPublicKeyInfo of id-ecPublicKey with prime256v1 up to the point (RFC 5480).
    private static let prefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// Nil for anything but an uncompressed point on the curve.
    init?(point: [UInt8]) {
        guard point.count == 65, point[0] == 4, PublicKey(der: Self.prefix + point) != nil else { return nil }
        self.point = point
    }

    /// Reads a public key file in PEM; nil for anything but P-256.
    init?(pemFile path: String) {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }
        guard let der = base64Bytes(lines.joined()), der.starts(with: Self.prefix) else { return nil }
        self.init(point: Array(der.dropFirst(Self.prefix.count)))
    }

    /// ECDSA with SHA-256; the signature is DER or 64 bytes r‖s (contract 3.1).
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let key = PublicKey(der: Self.prefix + point) else { return false }
        let der = signature.count == 64 ? Self.der(r: signature[..<32], s: signature[32...]) : signature
        return key.verifies(der, of: message)
    }

    /// ECDSA-Sig-Value (RFC 3279 section 2.2.3).
    static func der(r: ArraySlice<UInt8>, s: ArraySlice<UInt8>) -> [UInt8] {
        DER.sequence(DER.integer(r) + DER.integer(s))
    }
}

/// The forms of DER that OpenSSL requires.
enum DER {
    static func sequence(_ content: [UInt8]) -> [UInt8] { element(0x30, content) }

    /// A non-negative integer; the bytes are big-endian.
    static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        let digits = bytes.drop { $0 == 0 }
        let needsZero = digits.first.map { $0 >= 0x80 } ?? true
        return element(0x02, (needsZero ? [0] : []) + digits)
    }

    static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length: [UInt8] = []
        var rest = content.count
        repeat {
            length.insert(UInt8(rest & 0xFF), at: 0)
            rest >>= 8
        } while rest > 0
        let isShort = content.count < 128
        return [tag] + (isShort ? length : [0x80 | UInt8(length.count)] + length) + content
    }
}

/// The assertion of a capture (contract 3.1).
struct CaptureAssertion {
    /// rpIdHash ‖ flags ‖ counter ‖ extensions.
    let authenticatorData: [UInt8]
    let signature: [UInt8]

    init?(cbor: [UInt8]) {
        guard let map = try? CBORReader.read(cbor), let data = map["authenticatorData"], data.count >= 37,
            let signature = map["signature"]
        else { return nil }
        authenticatorData = data
        self.signature = signature
    }

    var relyingPartyHash: [UInt8] { Array(authenticatorData[..<32]) }
    var counter: Int { authenticatorData[33..<37].reduce(0) { $0 << 8 | Int($1) } }

    func isSigned(by key: P256PublicKey, over clientData: some Sequence<UInt8>) -> Bool {
        key.verifies(signature, of: authenticatorData + Digest.sha256(Array(clientData)))
    }
}
