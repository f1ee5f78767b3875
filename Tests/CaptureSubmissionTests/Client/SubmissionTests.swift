import Foundation
import MediaCore
import MediaCrypto
import MediaTransport
import TestSupport
import Testing

@testable import CaptureSubmission

@Suite("Submission of a hash-only capture", .prompt)
struct SubmissionTests {
    private typealias Response = RecordingServer.Response
    private typealias Code = OutcomeCode

    private static let id = "6f9619ff-8b86-4d01-b42d-00cf4fc964ff"
    private static let requestID = "11111111-2222-4333-8444-555555555555"

    /// A signed body.
    private static func body(_ profile: CaptureProfile = .mediactl1) async throws -> HashOnlyBody {
        let payload = try SamplePayload.photo()
        let assertion = try await Assertion.sign(
            payload.clientDataHash(for: profile),
            rpID: "mediactl-1",
            counter: 2,
            with: try KeySigner()
        )
        return try payload.body(for: profile, assertion: assertion.base64)
    }

    private static func submit(
        to client: CaptureClient,
        _ profile: CaptureProfile = .mediactl1,
        control: TransferControl = TransferControl()
    ) async throws -> SubmissionResponse {
        try await client.submit(
            body(profile),
            headers: [HTTPHeader("X-Device-Id", "d"), HTTPHeader("X-Device-Signature", "s")],
            requestID: requestID,
            profile: profile,
            control: control
        )
    }

    private static func response(to response: Response, _ profile: CaptureProfile = .mediactl1) async throws
        -> SubmissionResponse
    {
        let server = try RecordingServer(response)
        let response = try await submit(to: server.client(), profile)
        return withExtendedLifetime(server) { response }
    }

    // MARK: Sent

    @Test("the body is sent unchanged, with the device's header fields and the request's ID")
    func sent() async throws {
        let (server, client) = try RecordingServer(.data(202, #"{"capture_id":"\#(Self.id)"}"#)).withClient()
        let body = try await Self.body()
        _ = try await client.submit(
            body,
            headers: [HTTPHeader("X-Device-Id", "d")],
            requestID: Self.requestID,
            profile: .mediactl1
        )
        let request = try #require(server.requests.first)
        #expect(request.line == "POST /base/api/v1/captures/hash-only")
        #expect(request.body == body.bytes)
        #expect(request.value(of: "content-type") == "application/json")
        #expect(request.value(of: "accept") == "application/json")
        #expect(request.value(of: "x-device-id") == "d")
        #expect(request.value(of: "x-request-id") == Self.requestID)
    }

    @Test("a dry run's body, and a body that was not built here, are not sent")
    func unsigned() async throws {
        let (server, client) = try RecordingServer(.data(202, "{}")).withClient()
        let unsigned = try SamplePayload.photo().body(for: .mediactl1, assertion: Assertion.placeholder)
        await expectFailure(.internalError) {
            _ = try await client.submit(unsigned, headers: [], requestID: "", profile: .mediactl1)
        }
        let foreign = try #require(HashOnlyBody(bytes: Array("{\"media\":\"…\"}".utf8)))
        await expectFailure(.recordUnusable) {
            _ = try await client.submit(foreign, headers: [], requestID: "", profile: .mediactl1)
        }
        #expect(server.requests.isEmpty)
    }

    // MARK: Accepted

    @Test(
        "202: the ID must be a UUID, and the address must use http or https",
        arguments: [
            ("https://v.example/\(id)", "https://v.example/\(id)"), ("HTTP://h:1/x?y#z", "HTTP://h:1/x?y#z"),
            ("javascript:alert(1)", nil), ("https://", nil), ("https://user@h/x", nil), ("https://h/\\u001b[2J", nil),
            ("https://h/é", nil), ("file:///etc/passwd", nil),
        ] as [(String, String?)]
    )
    func accepted(_ address: String, _ shown: String?) async throws {
        let response = try await Self.response(
            to: .data(202, #"{"capture_id":"\#(Self.id.uppercased())","verification_url":"\#(address)"}"#)
        )
        #expect(response == .accepted(captureID: Self.id, verificationURL: shown))
    }

    @Test("a wrong content type does not prevent reading the ID")
    func wrongType() async throws {
        var response = Response.data(202, #"{"capture_id":"\#(Self.id)","verification_url":null}"#)
        for type in ["text/html", nil, "application/octet-stream"] {
            response.type = type
            #expect(try await Self.response(to: response) == .accepted(captureID: Self.id, verificationURL: nil))
        }
    }

    @Test(
        "a success without an ID leaves the outcome unknown",
        arguments: [
            Response(status: 202, body: "<html>", type: "text/html"), .data(202, "{}"), .data(202, "null"),
            .data(202, #"{"capture_id":"../../x"}"#), .data(202, #"{"capture_id":7}"#),
            Response(status: 200, body: "<html>Welcome to the hotel", type: "text/html"),
            Response(status: 204, body: "", type: nil),
        ]
    )
    private func lost(_ response: Response) async throws {
        let error = await expectFailure(.unknownOutcome) { _ = try await Self.response(to: response) }
        #expect(error?.httpStatus == response.status)
        #expect(error?.isRetryable == false)
    }

    @Test(
        "409: the ID of the earlier capture is read from each of its possible places",
        arguments: [
            (#"{"error":{"code":"DUPLICATE_CAPTURE","details":{"capture_id":"\#(id)"}}}"#, id),
            (#"{"error":{"code":"DUPLICATE_CAPTURE","capture_id":"\#(id)"}}"#, id),
            (#"{"error":{"code":"DUPLICATE_CAPTURE"},"data":{"capture_id":"\#(id)"}}"#, id),
            (#"{"error":{"code":"DUPLICATE_CAPTURE"},"capture_id":"\#(id)"}"#, id),
            (#"{"capture_id":"\#(id)"}"#, id),
            (#"{"error":{"code":"DUPLICATE_CAPTURE","details":{"capture_id":"x"}}}"#, nil),
            (#"{"error":{"code":"DUPLICATE_CAPTURE"}}"#, nil),
        ] as [(String, String?)]
    )
    func duplicate(_ body: String, _ earlier: String?) async throws {
        #expect(try await Self.response(to: Response(status: 409, body: body)) == .duplicate(captureID: earlier))
    }

    @Test(
        "only a valid address is used",
        arguments: [
            ("https://a.test/verify/1", true), ("http://a.test", true), ("javascript://a.test/%0aalert(1)", false),
            ("file://a.test/etc", false), ("https://user@a.test/", false), ("https:///x", false),
            ("https://a.test/\u{1B}[2J", false), ("https://a.test/ü", false),
        ]
    )
    func address(_ text: String, _ isKept: Bool) {
        #expect(CaptureResponse.address(.string(text)) == (isKept ? text : nil))
    }

    // MARK: Refused (contract 1.3)

    @Test("a failure before the whole body was sent means that nothing was stored")
    func earlyFailure() {
        for (isComplete, code) in [(true, Code.unknownOutcome), (false, .serverError)] {
            let refusal = CaptureRefusal(HTTPResponseHead(status: 500, headers: []), body: [])
            #expect(refusal.error(of: .submission(isWhole: isComplete)).code == code)
        }
    }

    @Test(
        "every refusal has its code, and only temporary ones are retryable",
        arguments: [
            (Response.refusal(400, "VALIDATION_ERROR"), Code.badRequest, false),
            (Response(status: 400, body: "expected value", type: "text/plain; charset=utf-8"), .badRequest, false),
            (.refusal(401, "DEVICE_AUTH_REQUIRED"), .unauthorized, false),
            (.refusal(401, "TIMESTAMP_EXPIRED"), .clockWrong, false),
            (.refusal(401, "TIMESTAMP_INVALID"), .clockWrong, false),
            (.refusal(401, "ATTESTATION_FAILED"), .assertionRefused, false),
            (.refusal(401, "SIGNATURE_INVALID"), .requestSignatureRefused, false),
            (.refusal(401, "REPLAY_DETECTED"), .counterOutdated, false),
            (Response(status: 401, body: "", type: nil), .unauthorized, false),
            (.refusal(403, "DEVICE_UNVERIFIED"), .deviceUnverified, false),
            (.refusal(403, "FORBIDDEN"), .forbidden, false),
            (Response(status: 403, body: "<html>", type: "text/html"), .forbidden, false),
            (.refusal(404, "DEVICE_NOT_FOUND"), .deviceUnknown, false),
            (Response(status: 404, body: "<html>", type: "text/html"), .notFound, false),
            (Response(status: 405, body: "", type: nil), .unexpectedResponse, false),
            (Response(status: 408, body: "", type: nil), .unknownOutcome, false),
            (Response(status: 409, body: "<html>", type: "text/html"), .unknownOutcome, false),
            (.refusal(409, "DEVICE_LOCKED"), .unknownOutcome, false),
            // These responses are not from the server, which has not seen the capture.
            (Response(status: 400, body: "<html>", type: "text/html"), .badRequest, true),
            (Response(status: 400, body: "", type: nil), .badRequest, true),
            (Response(status: 407, body: "<html>", type: "text/html"), .badRequest, true),
            (Response(status: 413, body: "<html>", type: "text/html"), .payloadTooLarge, true),
            (Response(status: 415, body: "<html>", type: "text/html"), .unsupportedMedia, true),
            (Response(status: 418, body: "teapot", type: "text/plain"), .badRequest, true),
            (Response(status: 422, body: "<html>", type: "text/html"), .badRequest, true),
            (Response(status: 413, body: "length limit exceeded", type: "text/plain"), .payloadTooLarge, false),
            (Response(status: 415, body: "Expected request with …", type: "text/plain"), .unsupportedMedia, false),
            (Response(status: 422, body: "missing field `depth_analysis`", type: "text/plain"), .badRequest, false),
            (.refusal(429, "TOO_MANY_REQUESTS"), .rateLimited, true),
            (.refusal(429, "RATE_LIMITED"), .rateLimited, true),
            (Response(status: 429, body: "slow down", type: "text/plain"), .unknownOutcome, false),
            (.refusal(500, "INTERNAL_ERROR"), .unknownOutcome, false),
            (Response(status: 500, body: "", type: nil), .unknownOutcome, false),
            (Response(status: 502, body: "<html>", type: "text/html"), .unknownOutcome, false),
            (Response(status: 503, body: "<html>", type: "text/html"), .serverError, true),
            (Response(status: 504, body: "<html>", type: "text/html"), .unknownOutcome, false),
        ],
        CaptureProfile.allCases
    )
    private func refusals(_ row: (response: Response, code: Code, retryable: Bool), _ profile: CaptureProfile)
        async throws
    {
        let (server, client) = try RecordingServer(row.response).withClient()
        let error = await expectFailure(row.code) { _ = try await Self.submit(to: client, profile) }
        #expect(error?.httpStatus == row.response.status)
        #expect(error?.isRetryable == row.retryable)
        #expect(error?.detail.isEmpty == false)
        #expect(server.requests.count == 1, "a submission is never repeated automatically")
    }

    @Test("clock skew is reported with the server's time (trap 24)")
    func clock() async throws {
        let date = "Sun, 22 Nov 2026 02:16:05 GMT"
        let error = await expectFailure(.clockWrong) {
            _ = try await Self.response(to: .refusal(401, "TIMESTAMP_EXPIRED", headers: ["Date: \(date)"]))
        }
        #expect(error?.value == date)
        #expect(error?.serverCode == "TIMESTAMP_EXPIRED")
    }

    @Test("a redirect is reported, but not followed")
    func redirect() async throws {
        let server = try RecordingServer(
            Response(status: 307, body: "", type: nil, headers: ["Location: http://127.0.0.1:1/elsewhere"])
        )
        let client = try server.client()
        let error = await expectFailure(.redirected) { _ = try await Self.submit(to: client) }
        #expect(error?.value == "http://127.0.0.1:1/elsewhere")
        #expect(server.requests.count == 1)
    }

    @Test("a server's text is truncated, and an invalid code is not shown")
    func serverText() async throws {
        let long = String(repeating: "x", count: 100_000)
        let body = #"{"error":{"code":"evil\u001b[2J","message":"\#(long)"}}"#
        let error = await expectFailure(.badRequest) {
            _ = try await Self.response(to: Response(status: 400, body: body))
        }
        #expect((error?.detail.count ?? 0) < 400)
        #expect(error?.serverCode == nil)
        let plain = await expectFailure(.badRequest) {
            _ = try await Self.response(to: Response(status: 422, body: long, type: "text/plain"))
        }
        #expect((plain?.detail.count ?? 0) < 400)
    }

    // MARK: No response

    @Test("an unreachable server has not received the request")
    func unreachableServer() async throws {
        let server = try ScriptedServer { _, _ in }
        server.stopListening()
        let client = try RecordingServer.client(of: server.address)
        let error = await expectFailure(.transport) { _ = try await Self.submit(to: client) }
        #expect(error?.isRetryable == true)
        #expect(error?.underlying is TransportError)
    }

    /// Failures of an exchange after the whole request was read.
    private static let ends: [(name: String, act: @Sendable (ScriptedServer.Connection) throws -> Void)] = [
        ("closed", { $0.close() }),
        ("reset", { $0.reset() }),
        (
            "half a head",
            { connection in
                try connection.write("HTTP/1.1 202 Acc")
                connection.close()
            }
        ),
        (
            "half a response",
            { connection in
                try connection.write("HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\n{\"data\":")
                connection.close()
            }
        ),
        (
            "half a duplicate",
            { connection in
                try connection.write("HTTP/1.1 409 Conflict\r\nContent-Length: 100\r\n\r\n{\"error\":")
                connection.close()
            }
        ),
        (
            "half a failure",
            { connection in
                try connection.write("HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\n")
                connection.close()
            }
        ),
        (
            "an endless response",
            { connection in
                try connection.write("HTTP/1.1 202 Accepted\r\nContent-Length: 9000000\r\n\r\n")
                try connection.write(String(repeating: " ", count: 2 << 20))
            }
        ),
    ]

    @Test("a response lost after the body leaves the outcome unknown", arguments: ends.indices)
    func lostResponse(_ index: Int) async throws {
        let server = try RecordingServer { connection, _, _ in try Self.ends[index].act(connection) }
        let client = try server.client()
        let error = await expectFailure(.unknownOutcome) { _ = try await Self.submit(to: client) }
        #expect(error?.isRetryable == false)
        #expect(server.requests.count == 1)
    }

    @Test("a truncated refusal is a refusal")
    func lostRefusal() async throws {
        let server = try RecordingServer { connection, _, _ in
            try connection.write("HTTP/1.1 401 No\r\nContent-Length: 100\r\n\r\n{\"error\":")
            connection.close()
        }
        let client = try server.client()
        await expectFailure(.unauthorized) { _ = try await Self.submit(to: client) }
    }

    @Test("abandoning a submission after the body also leaves the outcome unknown", .timeLimit(.minutes(1)))
    func abandoned() async throws {
        let control = TransferControl()
        let server = try RecordingServer { connection, _, _ in
            control.abandon()
            connection.waitForClose()
        }
        let client = try server.client()
        await expectFailure(.unknownOutcome) { _ = try await Self.submit(to: client, control: control) }
    }

    @Test("a request stopped before anything was sent is canceled")
    func stopped() async throws {
        let (server, client) = try RecordingServer(.data(202, "{}")).withClient()
        let control = TransferControl()
        control.stop()
        await expectFailure(.cancelled) { _ = try await Self.submit(to: client, control: control) }
        #expect(server.requests.isEmpty)
    }
}
