/// A P-256 private key (FIPS 186-4), in memory or wherever an OpenSSL 3 provider can reach.
public final class SigningKey: Sendable {
    /// Its public half.
    public let publicKey: VerifyingKey

    init(publicKey: VerifyingKey) {
        self.publicKey = publicKey
    }

    /// A new key in memory.
    ///
    /// - Throws: `CryptoError`.
    public static func generate() throws(CryptoError) -> SigningKey {
        throw CryptoError("not built yet")
    }

    /// Reads a PKCS#8 key (RFC 5958) in PEM.
    ///
    /// - Throws: `CryptoError` for anything but an unencrypted P-256 key.
    public static func read(pem: [UInt8]) throws(CryptoError) -> SigningKey {
        throw CryptoError("not built yet")
    }

    /// Opens a key through an OpenSSL provider: `handle:0x81000001`, `object:…`, `file:/path/key.pem`, `pkcs11:…`.
    ///
    /// Blocks as long as the provider's hardware takes.
    ///
    /// - Parameters:
    ///   - uri: What `OSSL_STORE_open` takes.
    ///   - provider: The provider's name, `tpm2` for example; it is loaded beside the default one and preferred.
    /// - Throws: `CryptoError` when the provider is missing, the key is not there, or is not of P-256.
    public static func open(uri: String, provider: String) throws(CryptoError) -> SigningKey {
        throw CryptoError("not built yet")
    }

    /// The key as PKCS#8 in PEM, for a key in memory. Secret.
    ///
    /// - Throws: `CryptoError` for a key that does not leave its home.
    public func pem() throws(CryptoError) -> [UInt8] {
        throw CryptoError("not built yet")
    }

    /// ECDSA with SHA-256. Blocks as long as the provider's hardware takes.
    ///
    /// - Returns: 64 bytes, r‖s.
    /// - Throws: `CryptoError`.
    public func sign(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        throw CryptoError("not built yet")
    }
}

/// A P-256 public key.
public struct VerifyingKey: Sendable, Equatable {
    /// SEC 1, uncompressed: 65 bytes.
    public let sec1: [UInt8]

    /// Takes an uncompressed point.
    ///
    /// - Throws: `CryptoError` for anything that is no point of the curve.
    public init(sec1: [UInt8]) throws(CryptoError) {
        self.sec1 = sec1
    }

    /// Whether this is the ECDSA-SHA256 signature of a message: 64 bytes r‖s, or DER.
    public func isValid(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        false
    }
}

/// Forms of an ECDSA signature of P-256.
public enum ECDSASignature {
    /// r‖s, 64 bytes, from either form (RFC 3279 section 2.2.3); nil for anything else.
    public static func raw(from signature: [UInt8]) -> [UInt8]? {
        nil
    }
}
