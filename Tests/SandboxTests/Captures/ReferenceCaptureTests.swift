import Foundation
import TestSupport
import Testing

@testable import Sandbox

/// The existing server with its deviations (hash-only contract 1.1, 1.3, 3.1).
@Suite struct ReferenceCaptureTests {
    @Test func acceptsAndRefusesDuplicates() async throws {
        let fixture = try await CaptureFixture("reference", level: "secure_enclave")
        let accepted = try await fixture.submit(CapturePayload.reference())
        #expect(accepted.status == 202, "\(accepted.text)")
        #expect(try await fixture.counter() == 2)
        let again = try await fixture.submit(CapturePayload.reference(), counter: 3)
        #expect(again.status == 500 && again.errorCode == "INTERNAL_ERROR")
        // The counter was raised anyway.
        #expect(try await fixture.counter() == 4)
        let id = try #require(try accepted.data("capture_id") as? String)
        let read = try await fixture.get("captures/" + id, try await fixture.headers(5))
        #expect(try read.data("confidence_level") as? String == "high")
        let evidence = try #require(try read.data("evidence") as? [String: Any])
        #expect(evidence["platform"] as? String == "ios")
        #expect((evidence["depth_analysis"] as? [String: Any])?["method"] as? String == "lidar")
        let elsewhere = try await fixture.get("captures/by-hash/" + CapturePayload.hash, try await fixture.headers(6))
        #expect(elsewhere.status == 404 && elsewhere.errorCode == nil)
    }

    @Test func aScreenIsSuspicious() async throws {
        let fixture = try await CaptureFixture("reference", level: "tee")
        // Only the secure enclave's request signatures are checked: this is the signature of a different body.
        let assertion = try await fixture.assertion(1, over: CapturePayload.reference(isReal: false).utf8)
        let body = CapturePayload.reference(isReal: false).dropLast() + #","assertion":"\#(assertion)","more":[1]}"#
        let headers = try await fixture.headers(9) + ["-H", CaptureFixture.json]
        let response = try await fixture.post("captures/hash-only", String(body), headers)
        #expect(response.status == 202, "\(response.text)")
        #expect(try await fixture.sandbox.captures().map(\.confidence) == ["suspicious"])
        #expect(try await fixture.counter() == 1)
    }

    /// The framework responds with plain text.
    @Test func respondsWithPlainTextBeforeItReadsMembers() async throws {
        let fixture = try await CaptureFixture("reference", level: "secure_enclave")
        let headers = try await fixture.headers(1)
        let json = ["-H", CaptureFixture.json]
        let folder = try TemporaryDirectory()
        try Data(("\"" + String(repeating: "x", count: 2_100_000) + "\"").utf8)
            .write(to: URL(fileURLWithPath: folder.file("large")))
        let cases: [(body: String, type: [String], status: Int)] = [
            ("{", json, 400), ("{}", json, 422), ("{}", ["-H", "Content-Type: text/plain"], 415),
            ("@" + folder.file("large"), json, 413),
            (
                CapturePayload.reference().replacing(
                    "\"metadata\":{}",
                    with: #""metadata":{"location":{"city":"Bern","country":"CH"}},"assertion":"AA==""#
                ),
                json, 422
            ),
        ]
        for (body, type, status) in cases {
            let response = try await fixture.post("captures/hash-only", body, headers + type)
            #expect(response.status == status && response.errorCode == nil)
            #expect(response.headers["content-type"] == "text/plain; charset=utf-8")
        }
        let get = try await fixture.get("captures/hash-only")
        #expect(get.status == 405 && get.body.isEmpty)
        let response = try await fixture.post("captures/hash-only", "{}", json)
        #expect(response.status == 401 && response.errorCode == "DEVICE_AUTH_REQUIRED")
    }

    @Test func strictServersCheckSignaturesAndLevels() async throws {
        let strict = try await CaptureFixture("reference", level: "secure_enclave", ["--capture-strict"])
        let bad = try await strict.headers(1, "other") + ["-H", CaptureFixture.json]
        #expect(try await strict.post("captures/hash-only", "{}", bad).errorCode == "SIGNATURE_INVALID")
        let noCBOR = bad.dropLast(3) + ["X-Device-Signature: AA==", "-H", CaptureFixture.json]
        #expect(try await strict.post("captures/hash-only", "{}", Array(noCBOR)).errorCode == "VALIDATION_ERROR")
        #expect(try await strict.submit(CapturePayload.reference()).status == 202)
        let old = try await strict.submit(CapturePayload.reference(), counter: 2)
        #expect(old.errorCode == "REPLAY_DETECTED")
        let tee = try await CaptureFixture("reference", level: "tee", ["--capture-strict"])
        let refused = try await tee.submit(CapturePayload.reference())
        #expect(refused.status == 403 && refused.errorCode == "DEVICE_UNVERIFIED")
    }
}
