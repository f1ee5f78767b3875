import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// Errors from the contract's tables (sections 0, 1, 3.3, 3.7, 4, 5, 7).
@Suite("Error responses", .prompt)
struct RefusalTests {
    private typealias Response = RecordingServer.Response
    private typealias Code = OutcomeCode

    private static let counts = #"{"totalPhotos":0,"devicePhotos":0,"legacyPhotos":0,"otherDevicePhotos":0}"#

    private func status(_ response: RecordingServer.Response) async throws -> (
        error: PhotoSyncError?, attemptCount: Int
    ) {
        let (server, client) = try RecordingServer(response).withClient()
        let error = await photoSyncError { _ = try await client.status(device: nil) }
        return (error, server.requests.count)
    }

    @Test(
        "traps 7 and 8: both forms of errors are parsed, and the server's message is kept",
        arguments: [
            (Response.json(401, "API key is required."), Code.unauthorized, "API key is required.", 1),
            (.json(401, "Invalid API key."), .unauthorized, "Invalid API key.", 1),
            (.json(403, "User account is disabled."), .forbidden, "User account is disabled.", 1),
            (.json(500, "Internal server error."), .serverError, "Internal server error.", 4),
            (.json(401, "Session required."), .unauthorized, "Session required.", 1),
            (.text(500, "Database error"), .serverError, "Database error", 4),
            (.json(500, "Database error."), .serverError, "Database error.", 4),
            (.text(400, "Invalid request body"), .badRequest, "Invalid request body", 1),
            (.text(400, "Invalid device"), .invalidDevice, "Invalid device", 1),
            (.text(400, "Device ID is required"), .badRequest, "Device ID is required", 1),
            (.text(400, "No photos specified to claim"), .badRequest, "No photos specified to claim", 1),
            (.json(400, "Maximum 1000 hashes can be checked at once."), .badRequest, "Maximum 1000 hashes", 1),
            (.text(500, "Failed to list devices"), .serverError, "Failed to list devices", 4),
            (.text(500, "Failed to register device"), .serverError, "Failed to register device", 4),
            (.text(404, "404 page not found"), .notFound, "404 page not found", 1),
            (.text(404, "Device not found"), .notFound, "Device not found", 1),
            (.json(404, "Photo not found."), .notFound, "Photo not found.", 1),
            (Response(status: 405, body: "", type: nil), .unexpectedResponse, "status 405", 1),
            (
                Response(status: 502, body: "<html>Bad Gateway</html>", type: "text/html"), .serverError,
                "an HTML page", 4
            ),
            (Response(status: 504, body: "", type: nil), .serverError, "status 504", 4),
            (Response(status: 413, body: "<html>", type: "text/html"), .payloadTooLarge, "status 413", 1),
            (Response(status: 418, body: "x", type: "image/png"), .badRequest, "image/png", 1),
            (Response(status: 500, body: "{\"error\":", type: "application/json"), .serverError, "status 500", 1),
            (Response(status: 500, body: "", type: nil), .serverError, "status 500", 1),
            (Response(status: 204, body: "", type: nil), .unexpectedResponse, "status 204", 1),
        ]
    )
    private func table(response: Response, code: Code, words: String, attemptCount: Int) async throws {
        let (error, count) = try await status(response)
        #expect(error?.code == code)
        #expect(error?.detail.contains(words) == true, "\(String(describing: error))")
        #expect(error?.httpStatus == response.status)
        #expect(error?.isRetryable == (attemptCount > 1))
        #expect(count == attemptCount, "only temporary failures are retried")
    }

    @Test("the setup gate is not treated as a busy server: there is no retry and no cooldown", .timeLimit(.minutes(1)))
    func setupGate() async throws {
        let gate = Response(
            status: 503,
            body: #"{"error":"Setup required","message":"Please complete the setup","setupUrl":"/setup"}"#
        )
        let server = try RecordingServer { request, _ in
            request.line.hasPrefix("GET /api/health") ? Response(body: #"{"status":"healthy"}"#) : gate
        }
        // A cooldown would exceed the test's time limit.
        let http = try HTTPClient(
            configuration: HTTPClientConfiguration(retry: RetryPolicy(base: .seconds(3600), cap: .seconds(3600)))
        )
        let client = PhotoSyncClient(
            server: try server.url,
            http: http,
            authorization: .apiKey("key", for: try server.url.origin)
        )
        for _ in 1...2 {
            let error = await photoSyncError { _ = try await client.photos(cursor: nil, device: nil) }
            #expect(error?.code == .setupRequired)
            #expect(error?.isRetryable == false)
            #expect(error?.detail == "Setup required")
        }
        #expect(server.requests.count == 2)
        #expect(try await client.health() == ServerHealth(status: "healthy", isSetUp: nil))
    }

    @Test(
        "any other 503, and a temporary database error, are retried without being reported",
        arguments: [
            [Response(status: 503, body: "<html>", type: "text/html"), .json(503, "Service unavailable")],
            [.text(500, "Database error"), .json(500, "Database error.")],
        ]
    )
    private func passing(errors: [Response]) async throws {
        let server = try RecordingServer { _, number in
            number <= errors.count ? errors[number - 1] : Response(body: "[]")
        }
        #expect(try await server.client().devices().isEmpty)
        #expect(server.requests.count == 3)
    }

    @Test("a redirect is not followed, and the key is not sent elsewhere", arguments: [301, 302, 307, 308])
    func redirect(status: Int) async throws {
        let elsewhere = try RecordingServer(Response())
        let target = try elsewhere.url.description + "/api/sync/status"
        let server = try RecordingServer(
            Response(status: status, body: "", type: nil, headers: ["Location: \(target)"])
        )
        let client = try server.client()
        let error = await photoSyncError { _ = try await client.status(device: nil) }
        #expect(error?.code == .redirected)
        #expect(error?.value == target)
        #expect(elsewhere.requests.isEmpty)
        #expect(server.requests.count == 1)
    }

    @Test(
        "a 200 without JSON is an invalid response",
        arguments: [
            Response(body: "<html>Welcome to the hotel</html>", type: "text/html; charset=utf-8"),
            Response(body: "OK", type: "text/plain"), Response(body: Self.counts, type: "text/html"),
            Response(body: Self.counts, type: nil),
            Response(body: "{\"totalPhotos\":1}"), Response(body: ""), Response(body: "{\"totalPhotos\":"),
        ]
    )
    private func wrongContent(response: Response) async throws {
        let (error, count) = try await status(response)
        #expect(error?.code == .unexpectedResponse)
        #expect(count == 1)
    }

    @Test("a long server message is truncated")
    func longSentence() async throws {
        let (error, _) = try await status(.text(400, String(repeating: "long ", count: 10_000)))
        #expect(try #require(error).detail.count < 400)
    }

    @Test("reading a gigabyte of JSON stops early", .timeLimit(.minutes(1)))
    func endlessResponse() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n"
            )
            let blanks = String(repeating: " ", count: 1 << 20)
            while true { try connection.write(blanks) }
        }
        let client = try RecordingServer.client(of: server.address)
        let error = await photoSyncError { _ = try await client.photos(cursor: nil, device: nil) }
        #expect(error?.code == .unexpectedResponse)
        #expect(error?.detail == "the response is too long")
        #expect(server.connectionCount == 1)
    }

    @Test("a broken connection is retried; the final error is marked as retryable")
    func brokenConnection() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            connection.reset()
        }
        let client = try RecordingServer.client(of: server.address, retries: 2)
        let error = await photoSyncError { _ = try await client.devices() }
        #expect(error?.code == .transport)
        #expect(error?.isRetryable == true)
        #expect(error?.transport?.metrics.attempts == 3)
    }

    @Test("a stop ends the request")
    func stopped() async throws {
        let requested = Gate()
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            requested.open()
            connection.waitForClose()
        }
        let client = try RecordingServer.client(of: server.address)
        let control = TransferControl()
        async let error = photoSyncError { _ = try await client.photos(cursor: nil, device: nil, control: control) }
        await requested.opened()
        control.abandon()
        #expect(await error?.code == .cancelled)
    }

    @Test("the error for a rejected key does not contain the key")
    func secrets() async throws {
        let server = try RecordingServer(.json(401, "Invalid API key."))
        let client = try server.client(key: "s3cret-k3y")
        let error = try #require(await photoSyncError { _ = try await client.status(device: nil) })
        #expect(!"\(error) \(String(reflecting: error))".contains("s3cret-k3y"))
    }
}
