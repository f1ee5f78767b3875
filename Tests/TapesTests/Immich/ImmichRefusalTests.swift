import TestSupport
import Testing

@testable import MediaTransport
@testable import Tapes

/// Every row of the table in contract 6.4, with the messages of both major versions.
@Suite("refusals by Immich")
struct ImmichRefusalTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var message: String
        var expected: AlbumError.Kind
        var testDescription: String { "\(status) \(message)" }
    }

    static let rows = [
        Row(status: 400, message: "Album not found", expected: .albumMissing),
        Row(status: 400, message: "Not found or no album.read access", expected: .albumMissing),
        Row(status: 400, message: "Not found or no albumAsset.create access", expected: .albumMissing),
        Row(status: 400, message: "Quota has been exceeded!", expected: .quota),
        // Trap 2: invalid requests, and texts that only look alike, have the same status.
        Row(status: 400, message: "Validation failed", expected: .rejected(status: 400)),
        Row(status: 400, message: "The album was not found", expected: .rejected(status: 400)),
        Row(status: 400, message: "Not found or no asset.read access", expected: .rejected(status: 400)),
        Row(status: 400, message: "", expected: .rejected(status: 400)),
        Row(status: 401, message: "Invalid API key", expected: .unauthorized),
        Row(status: 401, message: "Authentication required", expected: .unauthorized),
        Row(
            status: 403,
            message: "Missing required permission: albumAsset.create",
            expected: .insufficient(["albumAsset.create"])
        ),
        Row(status: 403, message: "Forbidden", expected: .unauthorized),
        // The server never uses this status for missing items.
        Row(status: 404, message: "Album not found", expected: .unreachable(retryAfter: nil)),
        Row(status: 408, message: "Request Timeout", expected: .unreachable(retryAfter: nil)),
        Row(status: 429, message: "Too Many Requests", expected: .unreachable(retryAfter: nil)),
        Row(status: 500, message: "Internal server error", expected: .unreachable(retryAfter: nil)),
        Row(status: 502, message: "Bad gateway", expected: .unreachable(retryAfter: nil)),
        Row(status: 503, message: "Unavailable", expected: .unreachable(retryAfter: nil)),
        Row(status: 504, message: "Gateway timeout", expected: .unreachable(retryAfter: nil)),
        Row(status: 413, message: "Payload Too Large", expected: .unreachable(retryAfter: nil)),
        Row(status: 423, message: "Locked", expected: .unreachable(retryAfter: nil)),
        Row(status: 302, message: "", expected: .unreachable(retryAfter: nil)),
        Row(status: 409, message: "Conflict", expected: .rejected(status: 409)),
    ]

    enum Form: String, CaseIterable {
        case version3, version2Text, version2Array

        func body(_ message: String) -> String {
            switch self {
            case .version3: "{\"message\":\"\(message)\"}"
            case .version2Text:
                "{\"message\":\"\(message)\",\"error\":\"Refused\",\"statusCode\":400,\"correlationId\":\"c-1\"}"
            case .version2Array:
                "{\"message\":[\"\(message)\"],\"error\":\"Refused\",\"statusCode\":400,\"correlationId\":\"c-1\"}"
            }
        }
    }

    @Test("6.4, trap 2: status and message determine the error", arguments: rows, Form.allCases)
    func row(_ row: Row, form: Form) {
        let response = HTTPResponse(
            head: HTTPResponseHead(status: row.status, headers: [HTTPHeader("Content-Type", "application/json")]),
            body: Array(form.body(row.message).utf8),
            metrics: TransferMetrics()
        )
        let error = ImmichRefusal(response).error
        #expect(error.kind == row.expected)
        #expect(error.detail.contains(row.message))
        #expect(form == .version3 || error.detail.contains("c-1"))
    }

    /// The error of adding an asset to an album.
    private func failure(_ library: ImmichLibrary) async -> AlbumError? {
        await albumError { _ = try await library.add([AlbumAsset(SampleID.asset)], to: SampleID.album, hint: nil) }
    }

    @Test("6.4: each row of the table, through the whole library")
    func throughTheLibrary() async throws {
        let bench = try await ImmichBench()
        for row in Self.rows {
            let library = try bench.library()
            _ = try await library.identity()
            try await bench.server.add(faults: [
                "method": "PUT", "path": "/albums/", "status": row.status,
                "times": [408, 429, 502, 503, 504].contains(row.status) ? 2 : 1,
                "body": Form.version3.body(row.message),
            ])
            #expect(await failure(library)?.kind == row.expected, "\(row)")
        }
    }

    @Test(
        "6.4: an HTML page is not a response from the server, regardless of its status",
        arguments: [200, 400, 404, 502]
    )
    func html(_ status: Int) async throws {
        let bench = try await ImmichBench()
        try await bench.server.add(faults: [
            "method": "PUT", "status": status, "times": 9, "type": "text/html",
            "body": "<html><body>Album not found</body></html>",
        ])
        let error = await failure(try bench.library())
        #expect(error?.kind == (status == 400 ? .rejected(status: 400) : .unreachable(retryAfter: nil)))
        #expect(error?.detail.contains("text/html") == true)
    }

    @Test("6.4: texts and details of a failed validation, in both versions")
    func validationDetails() {
        let bodies = [
            #"{"message":"Validation failed","errors":["ids: expected array"]}"#,
            #"{"message":"Validation failed","errors":[{"path":["ids"],"message":"ids: expected array"}]}"#,
            #"{"message":["Validation failed","ids: expected array"],"error":"Bad Request","statusCode":400}"#,
        ]
        for body in bodies {
            let response = HTTPResponse(
                head: HTTPResponseHead(status: 400),
                body: Array(body.utf8),
                metrics: TransferMetrics()
            )
            let detail = ImmichRefusal(response).detail
            #expect(detail == "Validation failed; ids: expected array")
        }
    }

    @Test("6.4: at most 500 characters are kept, and never the key")
    func lengthAndKey() {
        KnownSecrets.add("s3cret-key")
        let long = "the key s3cret-key was refused " + String(repeating: "x", count: 5000)
        let response = HTTPResponse(
            head: HTTPResponseHead(status: 400, headers: [HTTPHeader("X-Correlation-ID", "s3cret-key" + long)]),
            body: Array("{\"message\":\"\(long)\"}".utf8),
            metrics: TransferMetrics()
        )
        let detail = ImmichRefusal(response).detail
        #expect(detail.count <= 500)
        #expect(detail.contains("the key *** was refused"))
        #expect(!detail.contains("s3cret"))
    }

    @Test("6.4: Retry-After is passed on", arguments: [429, 503])
    func retryAfter(_ status: Int) async throws {
        let bench = try await ImmichBench()
        try await bench.server.add(faults: [
            "method": "PUT", "status": status, "times": 9, "body": "{}", "headers": ["Retry-After": "120"],
        ])
        let error = await failure(try bench.library())
        #expect(error?.kind == .unreachable(retryAfter: .seconds(120)))
        // A command does not wait for minutes: there is one attempt.
        #expect(try await bench.lines().count == 1)
    }

    @Test("6.4: without a response the server is unreachable, and nothing is missing")
    func noResponse() async throws {
        let bench = try await ImmichBench()
        try await bench.server.add(faults: ["path": "/albums/", "drop": true, "times": 9])
        let library = try bench.library()
        let error = await albumError { _ = try await library.album(SampleID.album, hint: nil) }
        #expect(error?.kind == .unreachable(retryAfter: nil))
    }

    @Test("redirects are not followed, and never get the key")
    func redirect() async throws {
        let elsewhere = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.respond(200, "{}")
        }
        let bench = try await ImmichBench()
        try await bench.server.add(faults: [
            "path": "/albums/", "status": 302, "body": "", "headers": ["Location": elsewhere.address + "/api/albums"],
        ])
        let library = try bench.library()
        let error = await albumError { _ = try await library.album(SampleID.album, hint: nil) }
        #expect(error?.kind == .unreachable(retryAfter: nil))
        #expect(error?.detail.contains("redirected to \(elsewhere.address)") == true)
        #expect(elsewhere.connectionCount == 0)
    }
}
