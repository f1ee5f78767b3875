import Foundation
import MediaCrypto
import TestSupport
import Testing

/// Certificates created by the `openssl` tool.
@Suite struct EndorsementCertificateTests {
    @Test(
        arguments: [
            ("rsa:2048", EndorsementCertificate.KeyKind.rsa), ("ec:P-256", .p256), ("ec:P-384", .other),
        ]
    )
    func theTypeOfTheKeyIsRead(_ algorithm: String, _ kind: EndorsementCertificate.KeyKind) async throws {
        let folder = try TemporaryDirectory()
        let parts = algorithm.split(separator: ":").map(String.init)
        let key = parts[0] == "ec" ? ["ec", "-pkeyopt", "ec_paramgen_curve:" + parts[1]] : [algorithm]
        let request = ["req", "-x509", "-nodes", "-subj", "/CN=EK", "-keyout", folder.file("key"), "-newkey"]
        let result = try await ChildProcess.run("openssl", request + key + ["-out", folder.file("pem")])
        try #require(result.status == 0, "\(result.errors)")
        let form = ["-in", folder.file("pem"), "-outform", "DER", "-out", folder.file("der")]
        _ = try await ChildProcess.run("openssl", ["x509"] + form)
        let pem = Array(try #require(FileManager.default.contents(atPath: folder.file("pem"))))
        let der = Array(try #require(FileManager.default.contents(atPath: folder.file("der"))))
        let certificate = try EndorsementCertificate(der: der)
        #expect(certificate.der == der && certificate.keyKind == kind)
        // A TPM may store the certificate in a larger area.
        #expect(try EndorsementCertificate(der: der + [UInt8](repeating: 0xFF, count: 20)) == certificate)
        #expect(try EndorsementCertificate.reading(der) == [certificate])
        #expect(try EndorsementCertificate.reading(Array("text\n".utf8) + pem + pem) == [certificate, certificate])
        for damaged in [[], Array(der.dropLast(1)), Array(pem.prefix(pem.count / 2))] {
            #expect(throws: CryptoError.self) { try EndorsementCertificate.reading(damaged) }
        }
    }
}
