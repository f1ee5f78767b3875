internal import COpenSSL

/// The certificate of a TPM's endorsement key, or of one of its issuers (TCG EK Credential Profile).
public struct EndorsementCertificate: Sendable, Equatable {
    /// The kind of key in a certificate, among the kinds that `tpm2_createek` creates.
    public enum KeyKind: Sendable, Equatable {
        case rsa
        case p256
        case other
    }

    /// X.509 in DER.
    public let der: [UInt8]
    public let keyKind: KeyKind

    /// Reads a certificate at the start of `bytes`. A TPM may pad the area in which it stores one.
    ///
    /// - Throws: `CryptoError` if there is none.
    public init(der bytes: [UInt8]) throws(CryptoError) {
        let certificate = bytes.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            return d2i_X509(nil, &position, bytes.count)
        }
        guard let certificate else { throw .fromOpenSSL("not a certificate") }
        defer { X509_free(certificate) }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(certificate, &encoded)
        guard count > 0, let encoded else { throw .fromOpenSSL("the certificate cannot be encoded") }
        defer { CRYPTO_free(encoded, nil, 0) }
        der = Array(UnsafeBufferPointer(start: encoded, count: Int(count)))
        guard let pointer = X509_get_pubkey(certificate) else {
            ERR_clear_error()
            keyKind = .other
            return
        }
        let key = EVPKey(owning: pointer)
        keyKind = EVP_PKEY_is_a(key.pointer, "RSA") == 1 ? .rsa : key.isP256 ? .p256 : .other
    }

    /// Reads a file: one certificate in DER, or any number of them in PEM.
    ///
    /// - Throws: `CryptoError` if there is none.
    public static func reading(_ file: [UInt8]) throws(CryptoError) -> [EndorsementCertificate] {
        if let certificate = try? EndorsementCertificate(der: file) { return [certificate] }
        let marker = "-----BEGIN CERTIFICATE-----"
        let parts = String(decoding: file, as: UTF8.self).split(separator: marker, omittingEmptySubsequences: false)
        guard parts.count > 1 else { throw CryptoError("not a certificate") }
        return try parts.dropFirst().map { part throws(CryptoError) in
            let block = try PEMBlock.first(in: Array((marker + part).utf8))
            return try EndorsementCertificate(der: block.copy())
        }
    }
}
