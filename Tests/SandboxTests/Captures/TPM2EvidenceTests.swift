import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// Evidence created by a software TPM and the TPM's own tools.
@Suite struct TPM2EvidenceTests {
    private static let handle = "0x81000001"

    @Test func acceptsTPMEvidenceForAKey() async throws {
        let tpm = try await SoftwareTPM.start()
        try await tpm.makeKey(at: Self.handle)
        for algorithm in ["ecc", "rsa"] {
            let made = try await tpm.makeEvidence(ofKeyAt: Self.handle, attestedBy: algorithm)
            let key = try #require(P256PublicKey(point: made.publicKey))
            #expect(try evidence(made).certifies(key), "\(algorithm)")
            let other = try await OpenSSLKey()
            let stranger = try #require(P256PublicKey(point: other.point))
            #expect(try !evidence(made).certifies(stranger))
            for (name, corrupt) in Self.corruptions {
                var corrupted = made
                corrupt(&corrupted)
                #expect(try !evidence(corrupted).certifies(key), "\(algorithm): \(name)")
            }
        }
    }

    private typealias Corruption = (name: String, change: @Sendable (inout SoftwareTPM.Evidence) -> Void)

    /// The statement starts with `magic` (4 bytes) and `type` (2 bytes); the attributes of an area are bytes 4 to 7.
    private static let corruptions: [Corruption] = [
        ("magic", { $0.certification[0] ^= 1 }), ("type", { $0.certification[5] ^= 1 }),
        ("clock", { $0.certification[$0.certification.count - 60] ^= 1 }),
        ("signature", { $0.certificationSignature[$0.certificationSignature.count - 1] ^= 1 }),
        ("key not of a TPM", { $0.keyPublicArea[7] ^= 2 }), ("key area", { $0.keyPublicArea[6] ^= 4 }),
        ("unrestricted signer", { $0.attestationKeyPublicArea[5] ^= 1 }),
        ("another signer", { $0.attestationKeyPublicArea = $0.keyPublicArea }),
        ("certificate", { $0.endorsementCertificate.removeLast(100) }),
        ("bytes after the statement", { $0.certification.append(0) }),
    ]

    private func evidence(_ made: SoftwareTPM.Evidence) throws -> TPM2Evidence {
        let text = """
            {"key_public":"\(base64(made.keyPublicArea))","ak_public":"\(base64(made.attestationKeyPublicArea))",\
            "certification":"\(base64(made.certification))",\
            "certification_signature":"\(base64(made.certificationSignature))",\
            "ek_certificates":["\(base64(made.endorsementCertificate))"]}
            """
        return try TPM2Evidence(try TypedFields(try JSONValue(Array(text.utf8)), "key_attestation"))
    }

    /// A software key can be certified by another one, so a certification alone does not raise the level.
    @Test func certificationAloneIsSoftware() async throws {
        let tpm = try await SoftwareTPM.start()
        try await tpm.makeKey(at: Self.handle)
        let made = try await tpm.makeEvidence(ofKeyAt: Self.handle)
        let fixture = try await CaptureFixture()
        let text = try #require(try await fixture.get("devices/challenge").data("challenge") as? String)
        let folder = try TemporaryDirectory()
        try #require(Data(base64Encoded: text)).write(to: URL(fileURLWithPath: folder.file("challenge")))
        try await tpm.run(
            "tpm2_sign",
            ["-Q", "-c", Self.handle, "-g", "sha256", "-f", "plain"]
                + ["-o", folder.file("sig"), folder.file("challenge")]
        )
        let signature = Array(try Data(contentsOf: URL(fileURLWithPath: folder.file("sig"))))
        let response = try await fixture.post(
            "devices/register",
            """
            {"platform":"linux","model":"desk","has_lidar":false,"key_attestation":{"format":"tpm2",\
            "public_key":"\(base64(made.publicKey))","challenge":"\(text)","signature":"\(base64(signature))",\
            "key_public":"\(base64(made.keyPublicArea))","ak_public":"\(base64(made.attestationKeyPublicArea))",\
            "certification":"\(base64(made.certification))",\
            "certification_signature":"\(base64(made.certificationSignature))",\
            "ek_certificates":["\(base64(made.endorsementCertificate))"]}}
            """
        )
        #expect(response.status == 201, "\(response.text)")
        #expect(try response.data("attestation_level") as? String == "software")
        #expect(try await fixture.sandbox.captureDevices().map(\.level) == ["software", "software"])
    }
}
