internal import COpenSSL
internal import Foundation
internal import MediaCore

/// The pin of a server's public key, in the format of `curl --pinnedpubkey` and `--pinned-key`.
package enum PublicKeyPin {
    /// `sha256//` and the base64 of the SHA-256 of a certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
    package static func ofCertificate(pem: String) throws(CryptoError) -> String {
        let key = try digest(ofCertificate: pem, "the certificate has no public key") { certificate, encoded in
            i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), encoded)
        }
        return "sha256//" + Data(key.bytes).base64EncodedString()
    }

    /// SHA-256 of the whole certificate, as `openssl x509 -fingerprint -sha256` prints it: pairs of uppercase hex
    /// digits separated by colons.
    package static func fingerprint(ofCertificate pem: String) throws(CryptoError) -> String {
        let whole = try digest(ofCertificate: pem, "the certificate cannot be encoded") { certificate, encoded in
            i2d_X509(certificate, encoded)
        }
        return whole.bytes.map { HexText.lowerCase([$0]).uppercased() }.joined(separator: ":")
    }

    /// The digest of part of a certificate as OpenSSL encodes it. `BIO_new_mem_buf` keeps the pointer without copying,
    /// so everything that reads from it stays inside the closure.
    private static func digest(
        ofCertificate pem: String,
        _ failure: String,
        _ encode: (OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>) -> Int32
    ) throws(CryptoError) -> SHA256Digest {
        let result = Array(pem.utf8).withUnsafeBytes { bytes in
            Result { () throws(CryptoError) in
                guard let input = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else {
                    throw .fromOpenSSL("out of memory")
                }
                defer { BIO_free(input) }
                guard let certificate = PEM_read_bio_X509(input, nil, nil, nil) else {
                    throw .fromOpenSSL("not a certificate")
                }
                defer { X509_free(certificate) }
                var encoded: UnsafeMutablePointer<UInt8>?
                let count = encode(certificate, &encoded)
                guard count > 0, let encoded else { throw .fromOpenSSL(failure) }
                defer { CRYPTO_free(encoded, nil, 0) }
                var hasher = try SHA256Hasher()
                hasher.update(UnsafeRawBufferPointer(start: encoded, count: Int(count)))
                return try hasher.snapshot()
            }
        }
        return try result.get()
    }
}
