import MediaTransport
import Synchronization
import TestSupport
import Testing
import Tus

/// The meaning of each status for each method (tus 1.0.0 and RFC 9110; gighive contract 4.1 for tusd's and
/// Apache's).
@Suite("Statuses", .prompt)
struct StatusTests {
    struct Row: Sendable, CustomTestStringConvertible {
        var status: Int
        var verb: String
        var kind: TusError.Kind
        var type = "text/plain"

        var testDescription: String { "\(verb) \(status) \(type)" }
    }

    /// Statuses that end a call at once, and their errors, per method: (OPTIONS, POST, HEAD, PATCH, DELETE).
    static let final: [Row] = {
        let table: [(Int, [TusError.Kind?])] = [
            (301, [.redirected, .redirected, .redirected, .redirected, .redirected]),
            (307, [.redirected, .redirected, .redirected, .redirected, .redirected]),
            (400, [.refused, .refused, .refused, .refused, .refused]),
            (401, [.unauthorized, .unauthorized, .unauthorized, .unauthorized, .unauthorized]),
            (403, [.forbidden, .forbidden, .forbidden, .forbidden, .forbidden]),
            (404, [.unsupported, .unsupported, .gone, .gone, nil]),
            (405, [.unsupported, .unsupported, .unsupported, .unsupported, .unsupported]),
            (410, [.unsupported, .unsupported, .gone, .gone, nil]),
            (412, [.unsupported, .unsupported, .unsupported, .unsupported, .unsupported]),
            (413, [.tooLarge, .tooLarge, .tooLarge, nil, .tooLarge]),
            (415, [.refused, .refused, .refused, .refused, .refused]),
            (501, [.unsupported, .unsupported, .unsupported, .unsupported, .unsupported]),
        ]
        let verbs = ["OPTIONS", "POST", "HEAD", "PATCH", "DELETE"]
        return table.flatMap { status, kinds in
            zip(verbs, kinds).compactMap { verb, kind in
                kind.map { Row(status: status, verb: verb, kind: $0) }
            }
        }
            // Pages from Apache and from proxies.
            + [
                Row(status: 401, verb: "PATCH", kind: .unauthorized, type: "text/html"),
                Row(status: 403, verb: "POST", kind: .forbidden, type: "text/html"),
                Row(status: 404, verb: "POST", kind: .unsupported, type: "text/html"),
                Row(status: 413, verb: "POST", kind: .tooLarge, type: "text/html"),
            ]
    }()

    /// Statuses that are retried, and reported if they persist.
    static let persistent: [Row] = {
        let table: [(Int, TusError.Kind)] = [
            (408, .rateLimited), (409, .conflict), (429, .rateLimited), (460, .checksumMismatch), (500, .server),
            (502, .server), (503, .server), (504, .server), (507, .server), (200, .unexpectedResponse),
            (204, .unexpectedResponse),
        ]
        return table.flatMap { status, kind in
            ["text/plain", "text/html"].map { Row(status: status, verb: "PATCH", kind: kind, type: $0) }
        } + [
            Row(status: 200, verb: "HEAD", kind: .unexpectedResponse),
            Row(status: 404, verb: "HEAD", kind: .unexpectedResponse, type: "text/html"),
            Row(status: 404, verb: "PATCH", kind: .unexpectedResponse, type: "text/html"),
            Row(status: 500, verb: "HEAD", kind: .server),
            Row(status: 503, verb: "HEAD", kind: .server, type: "text/html"),
        ]
    }()

    private func server(_ row: Row) throws -> TusServer {
        try TusServer(length: 3000) { request, _ in
            request.method == row.verb
                ? .response(row.status, ["Location: http://127.0.0.1:1/files/else"], body: "words", type: row.type)
                : .obey
        }
    }

    private func call(_ verb: String, _ client: TusClient, _ source: Source) async throws -> TusError? {
        switch verb {
        case "OPTIONS": await tusError { () async throws(TusError) in try await client.features() }
        case "POST":
            await tusError { () async throws(TusError) in try await client.create(byteCount: 3000, metadata: []) }
        case "DELETE": await tusError { () async throws(TusError) in try await client.terminate("abc") }
        default:
            await tusError { () async throws(TusError) in
                try await client.send(source.content(), to: "abc", options: plainOptions(retries: 2))
            }
        }
    }

    @Test("a refusal fails the call immediately, and is not retried", arguments: final)
    func refused(_ row: Row) async throws {
        let server = try server(row)
        let error = try await call(row.verb, server.client(), Source(3000))
        #expect(error?.kind == row.kind)
        #expect(error?.status == row.status)
        #expect(server.methods.count { $0 == row.verb } == 1)
        #expect(server.stored.isEmpty)
    }

    @Test("a temporary failure is retried after a HEAD request, and reported if it persists", arguments: persistent)
    func persists(_ row: Row) async throws {
        let server = try server(row)
        let error = try await call(row.verb, server.client(), Source(3000))
        #expect(error?.kind == row.kind)
        #expect(error?.status == row.status)
        #expect(server.methods.count { $0 == row.verb } == 3)
        if row.verb == "PATCH" {
            #expect(server.methods == ["HEAD", "PATCH", "HEAD", "PATCH", "HEAD", "PATCH"])
            #expect(error?.bytesSent == Int64(server.chunks.reduce(0, +)))
        }
    }

    @Test("a temporary failure is resolved by a retry", arguments: persistent)
    func passes(_ row: Row) async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, number in
            request.method == row.verb && number == 2 || number == 1 && row.verb == "HEAD" && request.method == "HEAD"
                ? .response(row.status, [], body: "", type: row.type) : .obey
        }
        let delivery = try await server.client()
            .send(source.content(), to: "abc", options: plainOptions())
        #expect(server.stored == source.bytes)
        #expect(delivery.digest == (try source.digest))
        #expect(delivery.retriedFailures > 0)
    }

    @Test("an upload that no longer exists counts as discarded", arguments: [204, 200, 404, 410])
    func terminated(status: Int) async throws {
        let server = try TusServer(length: 3000) { _, _ in .response(status) }
        try await server.client().terminate("abc")
        #expect(server.methods == ["DELETE"])
    }

    @Test("a web page does not confirm that an upload was discarded")
    func terminatedByAWebPage() async throws {
        let server = try TusServer(length: 3000) { _, _ in .response(200, [], body: "<p/>", type: "text/html") }
        let client = try server.client()
        let error = await tusError { () async throws(TusError) in try await client.terminate("abc") }
        #expect(error?.kind == .unexpectedResponse)
    }

    @Test("a 2xx without the new offset counts if HEAD confirms it", arguments: [200, 204])
    func withoutOffset(status: Int) async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, _ in
            request.method == "PATCH" ? .storeAndRespond(status) : .obey
        }
        let delivery = try await server.client().send(source.content(), to: "abc", options: plainOptions(retries: 1))
        #expect(server.stored == source.bytes && delivery.bytesSent == 3000)
    }

    @Test("an impossible offset in the response is rejected", arguments: ["5000", "-1", "999", "x", ""])
    func impossibleOffset(value: String) async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, number in
            request.method == "PATCH" && number == 1 ? .response(204, ["Upload-Offset: \(value)"]) : .obey
        }
        let delivery = try await server.client().send(source.content(), to: "abc", options: plainOptions())
        #expect(server.stored == source.bytes && delivery.retriedFailures == 1)
    }

    @Test(
        "the client waits for a locked upload",
        arguments: ["PATCH", "HEAD", "DELETE"]
    )
    func locked(verb: String) async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, number in
            request.method == verb && number <= (verb == "DELETE" ? 1 : 7) ? .response(423) : .obey
        }
        if verb == "DELETE" {
            try await server.client().terminate("abc")
            #expect(server.methods == ["DELETE", "DELETE"])
        } else {
            // Locks do not count as attempts.
            let delivery = try await server.client().send(
                source.content(),
                to: "abc",
                options: plainOptions(retries: 0)
            )
            #expect(server.stored == source.bytes && delivery.retriedFailures == 7)
        }
    }

    @Test("a persistent lock is reported after the time limit")
    func lockedPermanently() async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, _ in request.method == "PATCH" ? .response(423) : .obey }
        let waits = Mutex<[Duration]>([])
        let attempts = Mutex<[Int]>([])
        let options = plainOptions(lockLimit: .milliseconds(10))
        let result = try await source.send(to: server, options: options) { event in
            guard case .retrying(let attempt, let wait, _) = event else { return }
            waits.withLock { $0.append(wait) }
            attempts.withLock { $0.append(attempt) }
        }
        let error = #expect(throws: TusError.self) { try result.get() }
        #expect(error?.kind == .locked && error?.status == 423)
        // 1 + 2 + 4 + 3 = 10.
        #expect(waits.withLock { $0 } == [1, 2, 4, 3].map { .milliseconds($0) })
        #expect(attempts.withLock { $0 } == [1, 2, 3, 4])
        #expect(server.methods == ["HEAD"] + (0..<4).flatMap { _ in ["PATCH", "HEAD"] } + ["PATCH"])
    }

    @Test("Retry-After is reported, and honored up to the policy's limit")
    func retryAfter() async throws {
        let source = try Source(3000)
        let server = try TusServer(length: 3000) { request, number in
            request.method == "PATCH" && number == 1 ? .response(429, ["Retry-After: 7"]) : .obey
        }
        var options = plainOptions()
        options.retry.retryAfterCap = .milliseconds(3)
        let waits = Mutex<[Duration]>([])
        let http = try HTTPClient(configuration: HTTPClientConfiguration(retry: options.retry))
        let client = TusClient(http: http, server: try ServerURL(server.address), path: "/files/", authorization: nil)
        _ = try await client.send(source.content(), to: "abc", options: options) { event in
            if case .retrying(_, let wait, let error) = event {
                #expect(error.retryAfterSeconds == 7 && error.kind == .rateLimited)
                waits.withLock { $0.append(wait) }
            }
        }
        #expect(waits.withLock { $0 } == [.milliseconds(3)])
    }
}
