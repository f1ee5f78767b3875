import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Sandbox

/// Challenges and registration (hash-only contract 3.2, 3.4).
@Suite struct CaptureRegistrationTests {
    private func challenge(_ fixture: CaptureFixture) async throws -> [UInt8] {
        let response = try await fixture.get("devices/challenge")
        #expect(
            try JSONShape(response.text).description
                == "{data: {challenge: string, expires_at: string}, meta: {request_id: string, timestamp: string}}"
        )
        let text = try #require(try response.data("challenge") as? String)
        return Array(try #require(Data(base64Encoded: text)))
    }

    private func body(_ challenge: [UInt8], _ key: [UInt8], _ signature: [UInt8], format: String = "self") -> String {
        """
        {"platform":"Linux","model":"desk","has_lidar":false,"key_attestation":{"format":"\(format)",\
        "public_key":"\(base64(key))","challenge":"\(base64(challenge))","signature":"\(base64(signature))"}}
        """
    }

    @Test func aKeyCanBeRegistered() async throws {
        let fixture = try await CaptureFixture()
        let key = try await OpenSSLKey()
        let first = try await challenge(fixture)
        #expect(first.count == 32)
        let stolen = body(first, key.point, try await fixture.key.sign(first))
        #expect(try await fixture.post("devices/register", stolen).errorCode == "ATTESTATION_FAILED")
        let request = body(first, key.point, try await key.sign(first))
        // The failure has invalidated the challenge.
        #expect(try await fixture.post("devices/register", request).errorCode == "CHALLENGE_NOT_FOUND")
        let second = try await challenge(fixture)
        let response = try await fixture.post(
            "devices/register",
            body(second, key.point, try await key.sign(second))
        )
        #expect(response.status == 201)
        #expect(
            try JSONShape(response.text).description.hasPrefix(
                "{data: {device_id: string, attestation_level: string, has_lidar: bool}, meta:"
            )
        )
        #expect(try response.data("attestation_level") as? String == "software")
        let third = try await challenge(fixture)
        let again = try await fixture.post(
            "devices/register",
            body(third, key.point, try await key.sign(third))
        )
        #expect(again.status == 409 && again.errorCode == "DEVICE_ALREADY_REGISTERED")
        let short = body([1], key.point, try await key.sign([1]))
        #expect(try await fixture.post("devices/register", short).errorCode == "CHALLENGE_INVALID")
        let noPoint = body(third, [4] + [UInt8](repeating: 1, count: 64), [])
        #expect(try await fixture.post("devices/register", noPoint).errorCode == "VALIDATION_ERROR")
        let phone = try await fixture.post("devices/register", request.replacing("Linux", with: "ios"))
        #expect(phone.status == 400 && phone.errorCode == "VALIDATION_ERROR")
    }

    @Test func challengesAreLimitedAndExpire() throws {
        let book = ChallengeBook()
        let now = Timestamp.now()
        let challenges = (0..<10).compactMap { _ in book.issue(to: "a", at: now) }
        #expect(challenges.count == 10 && challenges.allSatisfy { $0.expiresAt == now.advanced(bySeconds: 300) })
        #expect(book.issue(to: "a", at: now.advanced(bySeconds: 59)) == nil)
        #expect(book.issue(to: "b", at: now) != nil)
        #expect(book.issue(to: "a", at: now.advanced(bySeconds: 60)) != nil)
        try book.redeem(challenges[0].challenge, at: now.advanced(bySeconds: 300))
        let refusal = #expect(throws: CaptureRefusal.self) {
            try book.redeem(challenges[1].challenge, at: now.advanced(bySeconds: 301))
        }
        #expect(refusal?.status.code == 400)
    }

    /// Contract 3.3: the reference server does not accept Linux as a platform.
    @Test(arguments: [
        (#"{"platform":"linux","model":"x","has_lidar":false}"#, 400),
        (#"{"platform":"windows","model":"x","has_lidar":false}"#, 400),
        (#"{"platform":"android","model":"x","has_lidar":false,"android_attestation":{}}"#, 400),
        (#"{"platform":"IOS","model":" ","has_lidar":true,"device_id":"k","attestation_object":"AA=="}"#, 400),
        (#"{"platform":"ios","has_lidar":true,"device_id":"k","attestation_object":"AA=="}"#, 422),
        (
            #"{"platform":"ios","model":"x","has_lidar":true,"device_id":"k","attestation_object":"","challenge":"AA=="}"#,
            400
        ),
    ])
    func noLinuxDeviceEnrollsWithTheReferenceServer(body: String, status: Int) throws {
        let folder = try TemporaryDirectory()
        let settings = CaptureSettings(profile: .reference)
        let catalog = try CaptureCatalog(folder: try DataFolder(path: folder.path), settings: settings)
        let endpoint = RegistrationEndpoint(catalog: catalog, challenges: ChallengeBook())
        let refusal = #expect(throws: CaptureRefusal.self) {
            try endpoint.register(try JSONValue(Array(body.utf8)))
        }
        #expect(refusal?.status.code == status)
    }
}
