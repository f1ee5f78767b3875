internal import COpenSSL
internal import Foundation

/// The pin of a server's public key, as `curl --pinnedpubkey` and `--pinned-key` take it.
package enum PublicKeyPin {
    /// `sha256//` and the base64 of the SHA-256 of the certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
    ///
    /// - Parameter pem: A certificate (RFC 7468).
    /// - Returns: The pin.
    /// - Throws: `CryptoError` when it is none.
    package static func ofCertificate(pem: String) throws(CryptoError) -> String {
        let bytes = Array(pem.utf8)
        guard let input = BIO_new_mem_buf(bytes, Int32(clamping: bytes.count)) else {
            throw .fromOpenSSL("no memory for a certificate")
        }
        defer { BIO_free(input) }
        guard let certificate = PEM_read_bio_X509(input, nil, nil, nil) else {
            throw .fromOpenSSL("not a certificate")
        }
        defer { X509_free(certificate) }
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded)
        guard count > 0, let encoded else { throw .fromOpenSSL("a certificate without a public key") }
        defer { CRYPTO_free(encoded, nil, 0) }
        var hasher = try SHA256Hasher()
        hasher.update(UnsafeRawBufferPointer(start: encoded, count: Int(count)))
        return "sha256//" + Data(try hasher.snapshot().bytes).base64EncodedString()
    }
}
