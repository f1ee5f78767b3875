import MediaTransport
import TestSupport
import Testing

@Suite("Requests that classify their responses", .prompt)
struct VerdictTests {
    /// Returns these statuses in order, and the last one for all further requests.
    private func server(_ statuses: [Int]) throws -> RecordingServer {
        try RecordingServer { _, number in
            RecordingServer.Response(status: statuses[min(number, statuses.count) - 1], body: "{\"n\":\(number)}")
        }
    }

    private func url(of server: RecordingServer) throws -> RequestURL { try ServerURL(server.address).resource("/") }

    @Test("a final response is not retried, regardless of its status", arguments: [408, 429, 502, 503, 504])
    func final(status: Int) async throws {
        let server = try server([status])
        let http = try client(retries: 3)
        let request = HTTPRequest(.get, try url(of: server), repeatability: .safe, verdict: { _ in .final })
        #expect(try await http.execute(request).status == status)
        #expect(server.requests.count == 1)
    }

    @Test("a temporary failure is retried, depending on its content", .timeLimit(.minutes(1)))
    func passing() async throws {
        let server = try server([500])
        let request = HTTPRequest(
            .post,
            try url(of: server),
            body: BytesBody("x"),
            repeatability: .safe,
            verdict: { $0.body == Array("{\"n\":3}".utf8) ? .byStatus : .passing }
        )
        let response = try await client(retries: 5).execute(request)
        #expect(response.status == 500 && response.metrics.attempts == 3)
        #expect(server.requests.count == 3)
    }

    @Test(
        "a classification never repeats a request that may be sent only once",
        arguments: [Repeatability.atMostOnce, .resumable]
    )
    func atMostOnce(repeatability: Repeatability) async throws {
        let server = try server([500, 200])
        let request = HTTPRequest(.post, try url(of: server), repeatability: repeatability, verdict: { _ in .passing })
        #expect(try await client(retries: 3).execute(request).status == 500)
        #expect(server.requests.count == 1)
    }

    @Test("a final 503 does not start a cooldown", .timeLimit(.minutes(1)))
    func noCooldown() async throws {
        let server = try server([503, 200])
        let http = try HTTPClient(
            configuration: HTTPClientConfiguration(
                retry: RetryPolicy(retries: 0, base: .seconds(3600), cap: .seconds(3600))
            )
        )
        let request = HTTPRequest(.get, try url(of: server), repeatability: .atMostOnce, verdict: { _ in .final })
        #expect(try await http.execute(request).status == 503)
        #expect(try await http.execute(request).status == 200)
    }
}
