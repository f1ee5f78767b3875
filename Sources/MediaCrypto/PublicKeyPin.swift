internal import COpenSSL
internal import Foundation

/// The pin of a server's public key, as `curl --pinnedpubkey` and `--pinned-key` take it.
package enum PublicKeyPin {
    /// `sha256//` and the base64 of the SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
    package static func ofCertificate(pem: String) throws(CryptoError) -> String {
        let key = try withCertificate(pem) { (certificate) throws(CryptoError) in
            var encoded: UnsafeMutablePointer<UInt8>?
            let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &encoded)
            return try digest(encoded, count, "a certificate without a public key")
        }
        return "sha256//" + Data(key.bytes).base64EncodedString()
    }

    /// SHA-256 of the whole certificate, as `openssl x509 -fingerprint -sha256` prints it: pairs of capital hex digits
    /// separated by colons.
    package static func fingerprint(ofCertificate pem: String) throws(CryptoError) -> String {
        let whole = try withCertificate(pem) { (certificate) throws(CryptoError) in
            var encoded: UnsafeMutablePointer<UInt8>?
            let count = i2d_X509(certificate, &encoded)
            return try digest(encoded, count, "a certificate that cannot be encoded")
        }
        return whole.bytes.map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "0" + digits : digits
        }.joined(separator: ":")
    }

    /// `BIO_new_mem_buf` keeps the pointer without copying, so everything that reads from it stays inside the closure.
    private static func withCertificate<Value>(
        _ pem: String,
        _ body: (OpaquePointer) throws(CryptoError) -> Value
    ) throws(CryptoError) -> Value {
        let result = Array(pem.utf8).withUnsafeBytes { bytes in
            Result { () throws(CryptoError) in
                guard let input = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                    throw .fromOpenSSL("no memory for a certificate")
                }
                defer { BIO_free(input) }
                guard let certificate = PEM_read_bio_X509(input, nil, nil, nil) else {
                    throw .fromOpenSSL("not a certificate")
                }
                defer { X509_free(certificate) }
                return try body(certificate)
            }
        }
        return try result.get()
    }

    /// The digest of bytes encoded by OpenSSL; frees them.
    private static func digest(
        _ encoded: UnsafeMutablePointer<UInt8>?,
        _ count: Int32,
        _ failure: String
    ) throws(CryptoError) -> SHA256Digest {
        guard count > 0, let encoded else { throw .fromOpenSSL(failure) }
        defer { CRYPTO_free(encoded, nil, 0) }
        var hasher = try SHA256Hasher()
        hasher.update(UnsafeRawBufferPointer(start: encoded, count: Int(count)))
        return try hasher.snapshot()
    }
}
