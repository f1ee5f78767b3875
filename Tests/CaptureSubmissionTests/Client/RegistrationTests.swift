import Foundation
import MediaCrypto
import MediaTransport
import TestSupport
import Testing

@testable import CaptureSubmission

@Suite("Registration of a device", .prompt)
struct RegistrationTests {
    private typealias Response = RecordingServer.Response

    private static let challenge = RegistrationChallenge(bytes: Array(0..<32))
    private static let id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"

    private static func register(
        at server: RecordingServer,
        with signer: any CaptureSigner,
        _ evidence: TPM2Evidence? = nil
    ) async throws -> RegistrationResponse {
        try await server.client()
            .register(model: "DepthCam 3", challenge: challenge, signer: signer, evidence: evidence)
    }

    @Test("a challenge is 32 bytes of base64")
    func challenge() async throws {
        let text = Data(0..<32).base64EncodedString()
        let server = try RecordingServer(
            .data(200, #"{"challenge":"\#(text)","expires_at":"2026-11-22T02:21:05.123456789+00:00"}"#)
        )
        let challenge = try await server.client().challenge()
        #expect(challenge.bytes == Array(0..<32))
        #expect(server.requests.map(\.line) == ["GET /base/api/v1/devices/challenge"])
    }

    @Test(
        "a challenge in any other form is invalid",
        arguments: ["null", #"{"challenge":"AA=="}"#, #"{"challenge":7}"#, "{}"]
    )
    func noChallenge(_ data: String) async throws {
        let server = try RecordingServer(.data(200, data))
        await expectFailure(.unexpectedResponse) { _ = try await server.client().challenge() }
        #expect(server.requests.count == 1)
    }

    @Test("a software key: linux, no LiDAR, and a signature over the challenge (contract 3.4)")
    func own() async throws {
        let server = try RecordingServer(
            .data(201, #"{"device_id":"\#(Self.id)","attestation_level":"software","has_lidar":false}"#)
        )
        let signer = try KeySigner()
        let response = try await Self.register(at: server, with: signer)
        #expect(response == RegistrationResponse(deviceID: Self.id, attestationLevel: "software"))
        let request = try #require(server.requests.first)
        #expect(request.line == "POST /base/api/v1/devices/register")
        let body = try #require(try JSONSerialization.jsonObject(with: Data(request.body)) as? [String: Any])
        #expect(Set(body.keys) == ["platform", "model", "has_lidar", "key_attestation"])
        #expect(body["platform"] as? String == "linux")
        #expect(body["model"] as? String == "DepthCam 3")
        #expect(body["has_lidar"] as? Bool == false)
        let proof = try #require(body["key_attestation"] as? [String: String])
        #expect(Set(proof.keys) == ["format", "public_key", "challenge", "signature"])
        #expect(proof["format"] == "self")
        #expect(proof["public_key"] == Data(signer.publicKey.sec1).base64EncodedString())
        #expect(proof["challenge"] == Data(0..<32).base64EncodedString())
        let signature = try #require(Data(base64Encoded: proof["signature"] ?? ""))
        #expect(signer.publicKey.isValid(Array(signature), of: Array(0..<32)))
    }

    @Test("a TPM's evidence is sent unchanged")
    func tpm() async throws {
        let server = try RecordingServer(.data(201, #"{"device_id":"\#(Self.id)","attestation_level":"tpm2"}"#))
        let evidence = TPM2Evidence(
            keyPublicArea: [1],
            attestationKeyPublicArea: [2],
            certification: [3],
            certificationSignature: [4],
            endorsementCertificates: [[5], [6]]
        )
        let response = try await Self.register(at: server, with: try KeySigner(), evidence)
        #expect(response.attestationLevel == "tpm2")
        let body = try JSONSerialization.jsonObject(with: Data(server.requests[0].body)) as? [String: Any]
        let proof = try #require(body?["key_attestation"] as? [String: Any])
        #expect(proof["format"] as? String == "tpm2")
        #expect(proof["key_public"] as? String == "AQ==")
        #expect(proof["ak_public"] as? String == "Ag==")
        #expect(proof["certification"] as? String == "Aw==")
        #expect(proof["certification_signature"] as? String == "BA==")
        #expect(proof["ek_certificates"] as? [String] == ["BQ==", "Bg=="])
    }

    @Test(
        "refusals (contract 3.2)",
        arguments: [
            (Response.refusal(409, "DEVICE_ALREADY_REGISTERED"), OutcomeCode.alreadyRegistered, false),
            (.refusal(400, "VALIDATION_ERROR"), .enrolmentImpossible, false),
            (.refusal(400, "INVALID_ATTESTATION_FORMAT"), .enrolmentImpossible, false),
            (.refusal(403, "UNTRUSTED_ATTESTATION"), .enrolmentImpossible, false),
            (.refusal(400, "CHALLENGE_EXPIRED"), .badRequest, true),
            (.refusal(401, "CHALLENGE_INVALID"), .badRequest, true),
            (.refusal(429, "TOO_MANY_REQUESTS"), .rateLimited, true),
            (
                Response(status: 422, body: "missing field `attestation`", type: "text/plain"), .enrolmentImpossible,
                false
            ),
            (Response(status: 400, body: "no JSON", type: "text/plain"), .badRequest, false),
            (.refusal(500, "INTERNAL_ERROR"), .unknownOutcome, false),
            (.data(201, "{}"), .unknownOutcome, false),
            (.data(201, #"{"device_id":"x","attestation_level":"software"}"#), .unknownOutcome, false),
        ]
    )
    private func refusals(_ row: (response: Response, code: OutcomeCode, retryable: Bool)) async throws {
        let server = try RecordingServer(row.response)
        let signer = try KeySigner()
        let error = await expectFailure(row.code) { _ = try await Self.register(at: server, with: signer) }
        #expect(error?.isRetryable == row.retryable)
        #expect(server.requests.count == 1, "a registration is never repeated automatically")
    }
}
