import Foundation
import MediaCrypto
import TestSupport
import Testing

/// The pin and the fingerprint of a certificate, against the `openssl` program.
@Suite struct PublicKeyPinTests {
    @Test func pinAndFingerprintAreThoseOfOpenSSL() async throws {
        let directory = try TemporaryDirectory()
        let (key, certificate) = (directory.file("key.pem"), directory.file("cert.pem"))
        try await OpenSSLTool.run([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out",
            certificate, "-subj", "/CN=gighive.internal", "-days", "2",
        ])
        try await OpenSSLTool.run("pkey", "-in", key, "-pubout", "-outform", "der", "-out", directory.file("key.der"))
        let digest = try await OpenSSLTool.run("dgst", "-sha256", "-binary", "-hex", directory.file("key.der"))
        let hex = String(decoding: digest, as: UTF8.self).split(separator: " ").last.map {
            $0.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let printed = try await OpenSSLTool.run("x509", "-in", certificate, "-noout", "-fingerprint", "-sha256")
        let fingerprint = String(decoding: printed, as: UTF8.self).split(separator: "=").last.map {
            $0.trimmingCharacters(in: .whitespacesAndNewlines)
        }
        let pem = try String(contentsOfFile: certificate, encoding: .utf8)
        // Memory that is freed too early is seldom overwritten at once.
        for _ in 0..<300 {
            let pin = try PublicKeyPin.ofCertificate(pem: pem)
            let bytes = try #require(Data(base64Encoded: String(pin.dropFirst("sha256//".count))))
            #expect(bytes.map { String(format: "%02x", $0) }.joined() == hex)
            #expect(try PublicKeyPin.fingerprint(ofCertificate: pem) == fingerprint)
        }
    }

    @Test(arguments: ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func otherInputIsRefused(pem: String) {
        #expect(throws: CryptoError.self) { try PublicKeyPin.ofCertificate(pem: pem) }
        #expect(throws: CryptoError.self) { try PublicKeyPin.fingerprint(ofCertificate: pem) }
    }
}
