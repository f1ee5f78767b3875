internal import COpenSSL
internal import Synchronization

/// A P-256 private key (FIPS 186-4), in memory or in an OpenSSL 3 provider.
///
/// Safe to use from several threads; signatures are computed one at a time.
///
/// Unchecked: `key` and `library` are never replaced, and OpenSSL uses the objects that they point to only with `lock`
/// held, or in `init` and `deinit`, when no other thread has this value. OpenSSL allows threads to share its own keys;
/// for a provider's hardware connection, this is not documented.
public final class SigningKey: @unchecked Sendable {
    public let publicKey: VerifyingKey

    private let lock = Mutex(())
    /// The private half: an `EVP_PKEY`, owned.
    private let key: OpaquePointer
    /// nil for a key in memory.
    private let library: ProviderLibrary?

    private init(_ key: consuming EVPKey, in library: ProviderLibrary? = nil) throws(CryptoError) {
        publicKey = try VerifyingKey(key)
        self.key = key.release()
        self.library = library
    }

    deinit {
        // The key is freed before the library, which must outlive it and is released with the properties.
        EVP_PKEY_free(key)
    }

    /// Generates a key in memory.
    public static func generate() throws(CryptoError) -> SigningKey {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
            throw .fromOpenSSL("out of memory")
        }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw .fromOpenSSL("cannot create a key") }
        return try SigningKey(EVPKey(owning: key))
    }

    /// Reads an unencrypted PKCS#8 key (RFC 5958) in PEM.
    ///
    /// - Throws: `CryptoError` for anything but a P-256 key whose halves match.
    public static func read(pem: [UInt8]) throws(CryptoError) -> SigningKey {
        let block = try PEMBlock.first(in: pem)
        switch block.label {
        case "PRIVATE KEY": break
        case "ENCRYPTED PRIVATE KEY": throw CryptoError("the key is encrypted with a passphrase")
        case "EC PRIVATE KEY", "EC PARAMETERS": throw CryptoError("the key is in SEC 1 form, not PKCS#8")
        case "TSS2 PRIVATE KEY": throw CryptoError("the key belongs to a TPM and is opened through the provider tpm2")
        default: throw CryptoError("not a private key: the file contains \"\(block.label)\"")
        }
        let key = try block.parse("a private key") { position, count in
            guard let information = d2i_PKCS8_PRIV_KEY_INFO(nil, position, count) else { return nil }
            defer { PKCS8_PRIV_KEY_INFO_free(information) }
            return EVP_PKCS82PKEY(information)
        }
        guard key.isP256 else { throw CryptoError("not a P-256 key") }
        guard key.isConsistent else { throw CryptoError("the private key does not match the public key") }
        return try SigningKey(key)
    }

    /// Opens a key through an OpenSSL provider: `handle:0x81000001`, `object:…`, `file:/path/key.pem`, `pkcs11:…`.
    ///
    /// Blocks for as long as the provider's hardware takes. Never prompts for a passphrase. The private half stays with
    /// the provider, which is loaded in addition to the default one and preferred.
    ///
    /// - Throws: `CryptoError` if the provider is missing or cannot start, or if the key does not exist, is not on
    ///   P-256, or does not belong to the provider: a key in an ordinary file is not a TPM key.
    public static func open(uri: String, provider: String) throws(CryptoError) -> SigningKey {
        let library = try ProviderLibrary(provider: provider)
        return try SigningKey(library.privateKey(at: uri), in: library)
    }

    /// The key as PKCS#8 in PEM, ending with a line feed. Secret. Throws for a key that its provider keeps.
    public func pem() throws(CryptoError) -> [UInt8] {
        guard library == nil else { throw CryptoError("the key cannot be exported from its provider") }
        return try lock.withLock { _ throws(CryptoError) in
            try MemoryOutput.bytes("cannot write a key") {
                PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil)
            }
        }
    }

    /// ECDSA with SHA-256: 64 bytes, r‖s. Blocks for as long as the provider's hardware takes.
    public func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        let der: [UInt8] = try lock.withLock { _ throws(CryptoError) in
            ERR_clear_error()
            guard let context = EVP_MD_CTX_new() else { throw .fromOpenSSL("out of memory") }
            defer { EVP_MD_CTX_free(context) }
            var count = 0
            guard
                EVP_DigestSignInit_ex(
                    context,
                    nil,
                    "SHA256",
                    library?.context,
                    library?.preference,
                    key,
                    nil
                ) == 1, EVP_DigestSign(context, nil, &count, message, message.count) == 1
            else { throw .fromProvider("cannot sign") }
            var signature = [UInt8](repeating: 0, count: count)
            guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else {
                throw .fromProvider("cannot sign")
            }
            return Array(signature[..<count])
        }
        guard let raw = ECDSASignature.raw(from: der) else { throw CryptoError("not a P-256 signature") }
        return raw
    }
}

/// A P-256 public key (FIPS 186-4).
public struct VerifyingKey: Sendable, Equatable {
    /// SEC 1, uncompressed: 65 bytes.
    public let sec1: [UInt8]

    /// Takes an uncompressed point: 65 bytes, the first of which is 4 (SEC 1 section 2.3.3).
    ///
    /// - Throws: `CryptoError` for anything that is not a point on the curve.
    public init(sec1: [UInt8]) throws(CryptoError) {
        guard sec1.count == 65, sec1.first == 4 else {
            throw CryptoError("a P-256 public key must have 65 bytes and start with 4")
        }
        self.sec1 = sec1
        // OpenSSL accepts only points on the curve.
        _ = try evpKey()
    }

    /// Reads a SubjectPublicKeyInfo (RFC 5280) in PEM, as `openssl pkey -pubout` writes it. Throws for
    /// anything but a P-256 key.
    public init(pem: [UInt8]) throws(CryptoError) {
        let block = try PEMBlock.first(in: pem)
        guard block.label == "PUBLIC KEY" else {
            throw CryptoError("not a public key: the file contains \"\(block.label)\"")
        }
        let key = try block.parse("a public key") { position, count in d2i_PUBKEY(nil, position, count) }
        sec1 = try key.sec1()
    }

    /// Reads a SubjectPublicKeyInfo (RFC 5280) in DER, as `openssl pkey -pubout -outform DER` writes it. Throws for
    /// anything but a P-256 key.
    public init(der: [UInt8]) throws(CryptoError) {
        let (pointer, isWhole) = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            let pointer = d2i_PUBKEY(nil, &position, bytes.count)
            return (pointer, position == bytes.baseAddress.map { $0 + bytes.count })
        }
        guard let pointer else { throw .fromOpenSSL("not a public key") }
        let key = EVPKey(owning: pointer)
        guard isWhole else { throw CryptoError("not a public key: too long") }
        sec1 = try key.sec1()
    }

    init(_ key: borrowing EVPKey) throws(CryptoError) {
        sec1 = try key.sec1()
    }

    /// The key as SubjectPublicKeyInfo in PEM, ending with a line feed; `openssl pkey -pubin` reads it.
    public func pem() throws(CryptoError) -> [UInt8] {
        let key = try evpKey()
        return try MemoryOutput.bytes("cannot write a public key") { PEM_write_bio_PUBKEY($0, key.pointer) }
    }

    /// The key as SubjectPublicKeyInfo in DER.
    package func der() throws(CryptoError) -> [UInt8] {
        let block = try PEMBlock.first(in: pem())
        return block.copy()
    }

    /// Whether this is the ECDSA-SHA256 signature of a message, as 64 bytes r‖s or in DER.
    public func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let der = ECDSASignature.der(from: signature), let key = try? evpKey(),
            let context = EVP_MD_CTX_new()
        else { return false }
        defer {
            EVP_MD_CTX_free(context)
            // A wrong signature leaves its reason in OpenSSL's error queue.
            ERR_clear_error()
        }
        return EVP_DigestVerifyInit_ex(context, nil, "SHA256", nil, nil, key.pointer, nil) == 1
            && EVP_DigestVerify(context, der, der.count, message, message.count) == 1
    }

    private func evpKey() throws(CryptoError) -> EVPKey {
        guard let key = copenssl_p256_public_key(sec1, sec1.count) else { throw .fromOpenSSL("not a point on P-256") }
        return EVPKey(owning: key)
    }
}

/// OpenSSL's form of a key, freed with its owner.
struct EVPKey: ~Copyable {
    let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    /// Transfers ownership: the caller frees the key.
    consuming func release() -> OpaquePointer {
        let released = pointer
        discard self
        return released
    }

    var isP256: Bool {
        guard EVP_PKEY_is_a(pointer, "EC") == 1 else { return false }
        var name = [CChar](repeating: 0, count: 80)
        var count = 0
        guard EVP_PKEY_get_group_name(pointer, &name, name.count, &count) == 1 else {
            ERR_clear_error()
            return false
        }
        // The names given to this curve by SECG, X9.62 and NIST.
        let group = String(decoding: name[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return ["secp256r1", "prime256v1", "P-256"].contains(group)
    }

    /// The public half: SEC 1, uncompressed, 65 bytes. Throws for anything but a P-256 key.
    func sec1() throws(CryptoError) -> [UInt8] {
        guard isP256 else { throw CryptoError("not a P-256 key") }
        return try [4] + coordinate(OSSL_PKEY_PARAM_EC_PUB_X) + coordinate(OSSL_PKEY_PARAM_EC_PUB_Y)
    }

    /// 32 bytes of the public point. The encoded point is not used: it may be compressed, and
    /// providers need not have it.
    private func coordinate(_ name: String) throws(CryptoError) -> [UInt8] {
        var number: OpaquePointer?
        defer { BN_free(number) }
        var bytes = [UInt8](repeating: 0, count: 32)
        guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, BN_bn2binpad(number, &bytes, 32) == 32 else {
            throw .fromOpenSSL("the key has no public part")
        }
        return bytes
    }

    /// Whether the private half belongs to the public one.
    var isConsistent: Bool {
        guard let context = EVP_PKEY_CTX_new_from_pkey(nil, pointer, nil) else { return false }
        defer {
            EVP_PKEY_CTX_free(context)
            ERR_clear_error()
        }
        return EVP_PKEY_pairwise_check(context) == 1
    }
}

/// Forms of an ECDSA signature with P-256.
package enum ECDSASignature {
    /// Number of bytes of r and of s.
    private static let half = 32

    /// r‖s (64 bytes, big-endian, padded) from r‖s or DER (RFC 3279 section 2.2.3); nil for anything else.
    ///
    /// DER may also have 64 bytes if r and s are short. It is tried first, since r‖s is hardly ever valid DER.
    package static func raw(from signature: [UInt8]) -> [UInt8]? {
        raw(fromDER: signature) ?? (signature.count == 2 * half ? signature : nil)
    }

    private static func raw(fromDER signature: [UInt8]) -> [UInt8]? {
        signature.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            guard let parsed = d2i_ECDSA_SIG(nil, &position, bytes.count) else {
                ERR_clear_error()
                return nil
            }
            defer { ECDSA_SIG_free(parsed) }
            guard let start = bytes.baseAddress, position == start + bytes.count else { return nil }
            let (r, s) = (ECDSA_SIG_get0_r(parsed), ECDSA_SIG_get0_s(parsed))
            guard BN_is_negative(r) == 0, BN_is_negative(s) == 0 else { return nil }
            var raw = [UInt8](repeating: 0, count: 2 * half)
            let fits = raw.withUnsafeMutableBufferPointer { target in
                BN_bn2binpad(r, target.baseAddress, Int32(half)) == half
                    && BN_bn2binpad(s, target.baseAddress.map { $0 + half }, Int32(half)) == half
            }
            return fits ? raw : nil
        }
    }

    /// ECDSA-Sig-Value in DER (RFC 3279 section 2.2.3) from either form; nil for anything else.
    package static func der(from signature: [UInt8]) -> [UInt8]? {
        guard let raw = raw(from: signature), let value = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(value) }
        let r = BN_bin2bn(Array(raw[..<half]), Int32(half), nil)
        let s = BN_bin2bn(Array(raw[half...]), Int32(half), nil)
        guard r != nil, s != nil, ECDSA_SIG_set0(value, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        // Both numbers belong to `value` now.
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(value, &encoded)
        guard count > 0, let encoded else { return nil }
        defer { CRYPTO_free(encoded, nil, 0) }
        return Array(UnsafeBufferPointer(start: encoded, count: Int(count)))
    }
}

/// A block in a PEM file (RFC 7468): its label, and the DER inside, which is overwritten in `deinit` because it may be
/// secret.
struct PEMBlock: ~Copyable {
    /// For example `PRIVATE KEY`.
    let label: String
    private let bytes: UnsafeMutablePointer<UInt8>
    private let count: Int

    deinit {
        CRYPTO_clear_free(bytes, count, nil, 0)
    }

    /// The first block in a text; anything before or after it is ignored.
    static func first(in pem: [UInt8]) throws(CryptoError) -> PEMBlock {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        let isRead = pem.withUnsafeBytes { text in
            guard let input = BIO_new_mem_buf(text.baseAddress, Int32(clamping: text.count)) else { return false }
            defer { BIO_free(input) }
            return PEM_read_bio(input, &name, &header, &bytes, &count) == 1
        }
        defer {
            CRYPTO_free(name, nil, 0)
            CRYPTO_free(header, nil, 0)
        }
        guard isRead, let name, let bytes else { throw .fromOpenSSL("not a PEM file") }
        return PEMBlock(label: String(cString: name), bytes: bytes, count: count)
    }

    /// The DER inside. The copy is not overwritten, so this method is only for DER that is not secret.
    borrowing func copy() -> [UInt8] { Array(UnsafeBufferPointer(start: bytes, count: count)) }

    /// Reads the DER to its last byte with one of OpenSSL's `d2i` functions. `wanted` is used in the error.
    func parse(
        _ wanted: String,
        _ read: (UnsafeMutablePointer<UnsafePointer<UInt8>?>, Int) -> OpaquePointer?
    ) throws(CryptoError) -> EVPKey {
        var position: UnsafePointer<UInt8>? = UnsafePointer(bytes)
        guard let pointer = read(&position, count) else { throw .fromOpenSSL("not \(wanted)") }
        let key = EVPKey(owning: pointer)
        guard position == UnsafePointer(bytes + count) else { throw CryptoError("not \(wanted): too long") }
        return key
    }
}

enum MemoryOutput {
    /// Collects the output of `write`, which returns 1 on success; OpenSSL's own copy is overwritten.
    static func bytes(_ operation: String, _ write: (OpaquePointer) -> Int32) throws(CryptoError) -> [UInt8] {
        guard let output = BIO_new(BIO_s_mem()) else { throw .fromOpenSSL("out of memory") }
        // The memory of `BIO_s_mem` is cleared before it is freed.
        defer { BIO_free(output) }
        guard write(output) == 1 else { throw .fromOpenSSL(operation) }
        var bytes = [UInt8](repeating: 0, count: BIO_ctrl_pending(output))
        var count = 0
        guard BIO_read_ex(output, &bytes, bytes.count, &count) == 1, count == bytes.count else {
            throw .fromOpenSSL(operation)
        }
        return bytes
    }
}
