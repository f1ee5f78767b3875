import MediaCrypto
import MediaTransport
import TestSupport
import Testing

@testable import CaptureSubmission

@Suite("Queries for a capture", .prompt)
struct ReadingBackTests {
    private typealias Response = RecordingServer.Response

    private static let id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"

    /// Contract 6.2, in the form sent by a server.
    private static let capture = """
        {"capture_id":"\(id)","device_id":"d","confidence_level":"low","status":"complete","evidence":{"a":[1]},
        "captured_at":"2026-11-22T02:16:05+00:00","uploaded_at":"2026-11-22T02:16:05.123456789Z",
        "verification_url":"https://v.example/\(id)","capture_mode":"hash_only","media_stored":false,
        "media_hash":"\(SamplePayload.hash.uppercased())","metadata_flags":null,"detection_available":false}
        """

    private static let expected = RemoteCapture(
        captureID: id,
        captureMode: "hash_only",
        status: "complete",
        mediaHash: SamplePayload.hash,
        isMediaStored: false,
        confidenceLevel: "low",
        capturedAt: "2026-11-22T02:16:05+00:00",
        uploadedAt: "2026-11-22T02:16:05.123456789Z",
        verificationURL: "https://v.example/\(id)"
    )

    private static func hash() throws -> SHA256Digest {
        try #require(SHA256Digest(hex: SamplePayload.hash))
    }

    @Test("a query by ID sends the device's header fields")
    func byID() async throws {
        let server = try RecordingServer(.data(200, Self.capture))
        let headers = [HTTPHeader("X-Device-Id", "d")]
        #expect(try await server.client().capture(Self.id.uppercased(), headers: headers) == Self.expected)
        #expect(server.requests.map(\.line) == ["GET /base/api/v1/captures/\(Self.id)"])
        #expect(server.requests.first?.value(of: "x-device-id") == "d")
    }

    @Test("a query by hash")
    func byHash() async throws {
        let server = try RecordingServer(.data(200, Self.capture))
        #expect(try await server.client().capture(byHash: Self.hash(), headers: []) == Self.expected)
        #expect(server.requests.map(\.line) == ["GET /base/api/v1/captures/by-hash/\(SamplePayload.hash)"])
    }

    @Test("a response without a capture for the hash is valid; a missing route is not")
    func noHash() async throws {
        let unknown = try RecordingServer(.refusal(404, "HASH_NOT_FOUND"))
        #expect(try await unknown.client().capture(byHash: Self.hash(), headers: []) == nil)
        let reference = try RecordingServer(Response(status: 404, body: "", type: nil))
        await expectFailure(.notFound) {
            _ = try await reference.client().capture(byHash: Self.hash(), headers: [])
        }
    }

    @Test("a response about a different capture is invalid")
    func another() async throws {
        let (server, client) = try RecordingServer(.data(200, Self.capture)).withClient()
        await expectFailure(.unexpectedResponse) {
            _ = try await client.capture("00000000-0000-4000-8000-000000000000", headers: [])
        }
        let hash = try #require(SHA256Digest(hex: String(repeating: "a", count: 64)))
        await expectFailure(.unexpectedResponse) { _ = try await client.capture(byHash: hash, headers: []) }
        #expect(server.requests.count == 2)
    }

    @Test("an invalid ID is not used in an address")
    func noID() async throws {
        let (server, client) = try RecordingServer(.data(200, Self.capture)).withClient()
        await expectFailure(.badRequest) { _ = try await client.capture("../devices", headers: []) }
        #expect(server.requests.isEmpty)
    }

    @Test("values with an unexpected type or meaning are omitted")
    func odd() async throws {
        let server = try RecordingServer(
            .data(
                200,
                #"{"capture_id":"\#(Self.id)","status":7,"media_hash":"ab","media_stored":"no","verification_url":1}"#
            )
        )
        let capture = try await server.client().capture(Self.id, headers: [])
        #expect(server.requests.count == 1)
        #expect(capture == RemoteCapture(captureID: Self.id))
    }

    @Test(
        "refusals (contract 6.2); a signed query is sent once, regardless of the response",
        arguments: [
            (Response.refusal(404, "CAPTURE_NOT_FOUND"), OutcomeCode.captureNotFound, false),
            (.refusal(403, "FORBIDDEN"), .forbidden, false),
            (.refusal(400, "VALIDATION_ERROR"), .badRequest, false),
            (.refusal(401, "TIMESTAMP_EXPIRED"), .clockWrong, false),
            (.refusal(404, "DEVICE_NOT_FOUND"), .deviceUnknown, false),
            (.refusal(500, "INTERNAL_ERROR"), .serverError, true),
            (Response(status: 502, body: "<html>", type: "text/html"), .serverError, true),
            (Response(status: 503, body: "", type: nil), .serverError, true),
            (Response(status: 429, body: "", type: nil), .rateLimited, true),
            (Response(status: 200, body: "<html>", type: "text/html"), .unexpectedResponse, false),
            (Response(status: 302, body: "", type: nil), .redirected, false),
        ]
    )
    private func refusals(_ row: (response: Response, code: OutcomeCode, retryable: Bool)) async throws {
        let (server, client) = try RecordingServer(row.response).withClient()
        let error = await expectFailure(row.code) { _ = try await client.capture(Self.id, headers: []) }
        #expect(error?.isRetryable == row.retryable)
        #expect(server.requests.count == 1, "its counter is valid for one request")
    }

    @Test("a lost response is a retryable error, and the client does not repeat the query")
    func lost() async throws {
        let server = try RecordingServer { connection, _, _ in connection.close() }
        let client = try server.client()
        let error = await expectFailure(.transport) { _ = try await client.capture(Self.id, headers: []) }
        #expect(error?.isRetryable == true)
        #expect(server.requests.count == 1)
    }
}
