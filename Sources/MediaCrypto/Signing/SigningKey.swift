internal import COpenSSL
internal import Synchronization

/// A P-256 private key (FIPS 186-4), in memory or wherever an OpenSSL 3 provider can reach.
///
/// May be used from several threads; signatures are made one after the other.
public final class SigningKey: Sendable {
    /// Its public half.
    public let publicKey: VerifyingKey

    private let secret: Secret

    private init(_ key: consuming EVPKey, in library: ProviderLibrary? = nil) throws(CryptoError) {
        publicKey = try VerifyingKey(key)
        secret = Secret(key, in: library)
    }

    /// A new key in memory.
    ///
    /// - Returns: The key; `pem()` keeps it.
    /// - Throws: `CryptoError` when there is no randomness.
    public static func generate() throws(CryptoError) -> SigningKey {
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else {
            throw .fromOpenSSL("no memory for a key")
        }
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1, EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { throw .fromOpenSSL("cannot make a key") }
        return try SigningKey(EVPKey(owning: key))
    }

    /// Reads a PKCS#8 key (RFC 5958) in PEM.
    ///
    /// - Parameter pem: `-----BEGIN PRIVATE KEY-----` and so on.
    /// - Returns: The key.
    /// - Throws: `CryptoError` for anything but an unencrypted P-256 key whose halves belong together; says what it is.
    public static func read(pem: [UInt8]) throws(CryptoError) -> SigningKey {
        let block = try PEMBlock.first(in: pem)
        switch block.label {
        case "PRIVATE KEY": break
        case "ENCRYPTED PRIVATE KEY": throw CryptoError("the key is encrypted with a passphrase")
        case "EC PRIVATE KEY", "EC PARAMETERS": throw CryptoError("the key is in SEC 1 form, not PKCS#8")
        case "TSS2 PRIVATE KEY": throw CryptoError("the key belongs to a TPM and is opened through the provider tpm2")
        default: throw CryptoError("not a private key: the file holds \"\(block.label)\"")
        }
        let key = try block.parse("a private key") { position, count in
            guard let information = d2i_PKCS8_PRIV_KEY_INFO(nil, position, count) else { return nil }
            defer { PKCS8_PRIV_KEY_INFO_free(information) }
            return EVP_PKCS82PKEY(information)
        }
        guard key.isP256 else { throw CryptoError("not a P-256 key") }
        guard key.isConsistent else { throw CryptoError("the private half of the key does not fit its public half") }
        return try SigningKey(key)
    }

    /// Opens a key through an OpenSSL provider: `handle:0x81000001`, `object:…`, `file:/path/key.pem`, `pkcs11:…`.
    ///
    /// Blocks as long as the provider's hardware takes. Never asks for a passphrase.
    ///
    /// - Parameters:
    ///   - uri: What `OSSL_STORE_open` takes.
    ///   - provider: The provider's name, `tpm2` for example; it is loaded beside the default one and preferred.
    /// - Returns: The key; the private half stays with the provider.
    /// - Throws: `CryptoError` when the provider is missing or cannot start, when the key is not there, is not of P-256, or
    ///   is not the provider's: a key that lies in an ordinary file is no key of a TPM.
    public static func open(uri: String, provider: String) throws(CryptoError) -> SigningKey {
        let library = try ProviderLibrary(provider: provider)
        return try SigningKey(library.privateKey(at: uri), in: library)
    }

    /// The key as PKCS#8 in PEM, for a key in memory. Secret.
    ///
    /// - Returns: ASCII, ending with a line feed.
    /// - Throws: `CryptoError` for a key that does not leave its home.
    public func pem() throws(CryptoError) -> [UInt8] {
        try secret.pem()
    }

    /// ECDSA with SHA-256. Blocks as long as the provider's hardware takes.
    ///
    /// - Parameter message: Hashed by the key's provider.
    /// - Returns: 64 bytes, r‖s.
    /// - Throws: `CryptoError` when the provider refuses.
    public func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard let raw = ECDSASignature.raw(from: try secret.sign(message)) else {
            throw CryptoError("the signature is none of P-256")
        }
        return raw
    }
}

/// The private half.
///
/// Unchecked: the key and its library are used with `lock` held only, and by `deinit`, when nobody else has them. OpenSSL
/// would let threads share a key of its own; what a provider's connection to hardware allows is not written anywhere.
private final class Secret: @unchecked Sendable {
    private let lock = Mutex(())
    /// An `EVP_PKEY`, owned.
    private let key: OpaquePointer
    /// Nil for a key in memory.
    private let library: ProviderLibrary?

    init(_ key: consuming EVPKey, in library: ProviderLibrary?) {
        self.key = key.release()
        self.library = library
    }

    deinit {
        // Before the library, which goes with the properties: it must not go from under its key.
        EVP_PKEY_free(key)
    }

    func pem() throws(CryptoError) -> [UInt8] {
        guard library == nil else { throw CryptoError("the key does not leave its provider") }
        return try lock.withLock { _ throws(CryptoError) in
            try MemoryOutput.bytes("cannot write a key") {
                PEM_write_bio_PKCS8PrivateKey($0, key, nil, nil, 0, nil, nil)
            }
        }
    }

    /// DER.
    func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        try lock.withLock { _ throws(CryptoError) in
            ERR_clear_error()
            guard let context = EVP_MD_CTX_new() else { throw .fromOpenSSL("no memory for a signature") }
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
    }
}
