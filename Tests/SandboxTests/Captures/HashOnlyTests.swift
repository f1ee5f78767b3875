import Foundation
import HTTPTypes
import TestSupport
import Testing

@testable import Sandbox

/// Hash-only captures on `mediactl-1` (hash-only contract 1, 3.4, 6).
@Suite struct HashOnlyTests {
    private static let meta = "meta: {request_id: string, timestamp: string}"

    @Test func registersSubmitsAndReadsBack() async throws {
        let fixture = try await CaptureFixture()
        let id = "A1B2C3D4-0000-4000-8000-00000000ABCD"
        let accepted = try await fixture.submit(
            CapturePayload.canonical(),
            // The payload has a different spelling and order, and contains whitespace: the canonical form is signed.
            sending: CapturePayload.canonical().replacing(
                #""max_depth":5,"min_depth":0.5"#,
                with: #""min_depth": 5e-1,"max_depth":5.0"#
            ),
            options: ["-H", "X-Request-Id: " + id]
        )
        #expect(accepted.status == 202, "\(accepted.text)")
        let shape = try JSONShape(accepted.text).description
        #expect(
            shape == "{data: {capture_id: string, status: string, capture_mode: string, media_stored: bool, "
                + "verification_url: string}, \(Self.meta)}"
        )
        let meta = try #require(try accepted.object()["meta"] as? [String: String])
        #expect(meta["request_id"] == id.lowercased() && accepted.headers["x-request-id"] == id.lowercased())
        #expect(meta["timestamp"]?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z/) != nil)
        #expect(try await fixture.counter() == 2)

        let capture = try #require(try accepted.data("capture_id") as? String)
        let read = try await fixture.get("captures/" + capture, try await fixture.headers(3))
        #expect(read.status == 200)
        #expect(try read.data("media_hash") as? String == CapturePayload.hash)
        #expect(try read.data("confidence_level") as? String == "low")
        #expect(try read.data("captured_at") as? String == "2025-12-01T10:00:00+00:00")
        #expect(
            try JSONShape(read.text).description.hasPrefix(
                "{data: {capture_id: string, device_id: string, confidence_level: string, status: string, "
                    + "evidence: {platform: string, hardware_attestation: {status: string, level: string, "
                    + "device_model: string, assertion_verified: bool, counter_valid: bool}, depth_analysis: "
                    + "{status: string, depth_variance: number, depth_layers: number, edge_coherence: number, "
                    + "min_depth: number, max_depth: number, is_likely_real_scene: bool, source: string, "
                    + "method: string}, metadata: {"
            )
        )
        let found = try await fixture.get(
            "captures/by-hash/" + CapturePayload.hash.uppercased(),
            try await fixture.headers(4)
        )
        #expect(try found.data("capture_id") as? String == capture)
        #expect(try await fixture.get("verify/" + capture).data("media_hash") == nil)
        // A read uses up its counter as well.
        let replay = try await fixture.get("captures/" + capture, try await fixture.headers(4))
        #expect(replay.status == 401 && replay.errorCode == "REPLAY_DETECTED")
        let nowhere = try await fixture.get("captures/" + UUID().uuidString, try await fixture.headers(5))
        #expect(nowhere.status == 404 && nowhere.errorCode == "CAPTURE_NOT_FOUND")
        let unknown = String(repeating: "0", count: 64)
        let none = try await fixture.get("captures/by-hash/" + unknown, try await fixture.headers(6))
        #expect(none.status == 404 && none.errorCode == "HASH_NOT_FOUND")

        let again = try await fixture.submit(CapturePayload.canonical(), counter: 7)
        #expect(again.status == 409 && again.errorCode == "DUPLICATE_CAPTURE")
        let details = (try again.object()["error"] as? [String: Any])?["details"] as? [String: String]
        #expect(details?["capture_id"] == capture)
        #expect(try await fixture.counter() == 8)
        let stored = try await fixture.sandbox.captures()
        #expect(stored.map(\.id) == [capture] && stored.first?.mode == "hash_only")
        #expect(stored.first.map { String(decoding: $0.body, as: UTF8.self).contains("5e-1") } == true)
        #expect(try await fixture.sandbox.captureBodies().count == 2)
    }

    /// In each request, all checks before the failing one succeed.
    @Test func refusesInTheDocumentedOrder() async throws {
        let fixture = try await CaptureFixture()
        func refusal(_ options: [String], _ body: String = "x") async throws -> String {
            let response = try await fixture.post("captures/hash-only", body, options)
            return "\(response.status) \(response.errorCode ?? response.text)"
        }
        let late = try await fixture.headers(1, "x", late: 310_000)
        #expect(try await refusal(Array(late.dropFirst(2))) == "401 DEVICE_AUTH_REQUIRED")
        #expect(try await refusal(["-H", "X-Device-Id: x"] + late.dropFirst(2)) == "400 VALIDATION_ERROR")
        #expect(try await refusal(late) == "401 TIMESTAMP_EXPIRED")
        #expect(try await refusal(try await fixture.headers(1, "x", late: -70_000)) == "401 TIMESTAMP_INVALID")
        let good = try await fixture.headers(1, "x")
        let stranger = ["-H", "X-Device-Id: " + UUID().uuidString] + good.dropFirst(2)
        #expect(try await refusal(stranger) == "404 DEVICE_NOT_FOUND")
        #expect(try await refusal(good.dropLast() + ["X-Device-Signature: AA=="]) == "400 VALIDATION_ERROR")
        #expect(try await refusal(good, "y") == "401 SIGNATURE_INVALID")
        #expect(try await fixture.counter() == 0)
        #expect(try await refusal(good) == "415 UNSUPPORTED_MEDIA_TYPE")
        // The signature was valid, so its counter is used up.
        #expect(try await fixture.counter() == 1)
        #expect(try await refusal(good) == "401 REPLAY_DETECTED")
        let json = ["-H", CaptureFixture.json]
        #expect(try await refusal(try await fixture.headers(2, "x") + json) == "400 VALIDATION_ERROR")
        #expect(try await refusal(try await fixture.headers(3, "{}") + json, "{}") == "422 VALIDATION_ERROR")
        let get = try await fixture.get("captures/hash-only")
        #expect(get.status == 405 && get.errorCode == "METHOD_NOT_ALLOWED")
    }

    @Test(arguments: [
        ("depth_layers\":8", "depth_layers\":8.0", 422), ("depth_layers\":8", "depth_layers\":-1", 400),
        ("edge_coherence\":0.8", "edge_coherence\":1.1", 400), ("\"hash_only\"", "\"full\"", 400),
        ("\"photo\"", "\"video\"", 400), ("\"1.0\"", "\"\"", 400), ("2025-12-01T10:00:00Z", "2025-12-01", 400),
        ("efa1", "zfa1", 400), ("\"status\":\"completed\"", "\"status\":\"failed\"", 400),
        (",\"status\":\"completed\"", "", 422), ("\"metadata\":{}", "\"metadata\":null", 422),
        ("\"metadata\":{}", "\"metadata\":{\"location\":{\"city\":\"Bern\"}}", 422),
        ("\"metadata\":{}", "\"metadata\":{\"location\":{\"latitude\":1}}", 422),
        ("\"media_type\":\"photo\"", "\"media_type\":\"photo\",\"media_type\":\"photo\"", 422),
    ])
    func validatesMembers(old: String, new: String, status: Int) throws {
        let text = CapturePayload.canonical().replacing(old, with: new).dropLast() + #","assertion":"AA=="}"#
        let refusal = #expect(throws: CaptureRefusal.self) {
            try HashOnlySubmission(try JSONValue(Array(text.utf8)), .mediactl1).validate()
        }
        #expect(refusal?.status.code == status)
    }

    @Test func refusesWrongAssertions() async throws {
        let fixture = try await CaptureFixture()
        func code(_ payload: String, _ assertion: String, counter: UInt8) async throws -> String? {
            let body = String(payload.dropLast() + #","assertion":"\#(assertion)"}"#)
            let headers = try await fixture.headers(counter, body) + ["-H", CaptureFixture.json]
            return try await fixture.post("captures/hash-only", body, headers).errorCode
        }
        let payload = CapturePayload.canonical()
        let other = try await fixture.assertion(5, over: payload.utf8, party: "reference")
        #expect(try await code(payload, other, counter: 1) == "ATTESTATION_FAILED")
        let low = try await fixture.assertion(2, over: payload.utf8)
        #expect(try await code(payload, low, counter: 2) == "ATTESTATION_FAILED")
        #expect(try await code(payload, "AA==", counter: 3) == "ATTESTATION_FAILED")
        let good = try await fixture.assertion(5, over: payload.utf8)
        #expect(try await code(payload.replacing("efa1", with: "efa2"), good, counter: 4) == "ATTESTATION_FAILED")
        #expect(try await code(payload, good, counter: 4) == "REPLAY_DETECTED")
        #expect(try await code(payload, " ", counter: 6) == "VALIDATION_ERROR")
        #expect(try await fixture.sandbox.captures().isEmpty)
    }

    @Test(arguments: [
        ("software", "completed", true, "low"), ("tpm2", "completed", true, "medium"),
        ("tpm2", "unavailable", false, "medium"), ("tpm2", "completed", false, "suspicious"),
        ("software", "unavailable", false, "low"),
    ])
    func limitsConfidenceToTheLevel(level: String, status: String, isReal: Bool, expected: String) throws {
        let text = CapturePayload.canonical(status: status, isReal: isReal).dropLast() + #","assertion":"AA=="}"#
        let submission = try HashOnlySubmission(try JSONValue(Array(text.utf8)), .mediactl1)
        let device = CaptureDevice(id: "", platform: "linux", model: "", level: level, key: nil, keyId: "", counter: 0)
        let evidence = HashOnlyEvidence(submission: submission, device: device, profile: .mediactl1)
        #expect(evidence.confidence == expected)
    }

    @Test func aWrongClockIsRejected() async throws {
        let fixture = try await CaptureFixture("mediactl-1", level: "software", ["--capture-clock=-600"])
        let response = try await fixture.get("captures/x", try await fixture.headers(1))
        #expect(response.errorCode == "TIMESTAMP_INVALID")
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss zzz"
        let date = try #require(format.date(from: response.headers["date"] ?? ""))
        #expect((590...620).contains(-date.timeIntervalSinceNow))
    }

    @Test func faults() async throws {
        let fixture = try await CaptureFixture()
        let payload = CapturePayload.canonical()
        try await fixture.sandbox.addFaults("capture:status=503,retry-after=7,times=1")
        let away = try await fixture.submit(payload)
        #expect(away.status == 503 && away.headers["retry-after"] == "7")
        #expect(try await fixture.counter() == 0)
        try await fixture.sandbox.addFaults("capture:drop-response,times=1")
        #expect(try await fixture.submit(payload).exitCode == 52)
        #expect(try await fixture.sandbox.captures().count == 1)
        try await fixture.sandbox.addFaults("challenge:status=429,times=1", "challenge:wrong-types,skip=1")
        #expect(try await fixture.get("devices/challenge").errorCode == "TOO_MANY_REQUESTS")
        #expect(try await fixture.get("devices/challenge").data("challenge") as? Int == 0)
    }

    @Test func worksBelowAPath() async throws {
        let sandbox = try await SandboxProcess.start(arguments: ["--base-path", "/below"])
        #expect(try await curl(sandbox.baseURL + "/below/api/v1/verify/x").errorCode == "VALIDATION_ERROR")
        #expect(try await curl(sandbox.baseURL + "/api/v1/verify/x").errorCode == nil)
    }
}
