import MediaTransport
import Synchronization
import TestSupport
import Testing

@Suite("Requests that classify their responses", .prompt)
struct VerdictTests {
    private final class Count: Sendable {
        private let count = Mutex(0)

        var value: Int { count.withLock { $0 } }

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// Returns these statuses in order, and the last one for all further requests.
    private func server(_ statuses: [Int]) throws -> (server: ScriptedServer, requests: Count) {
        let requests = Count()
        let server = try ScriptedServer { connection, _ in
            while true {
                try connection.readRequest()
                let number = requests.next()
                try connection.respond(statuses[min(number, statuses.count) - 1], "{\"n\":\(number)}")
            }
        }
        return (server, requests)
    }

    @Test("a final response is not retried, regardless of its status", arguments: [408, 429, 502, 503, 504])
    func final(status: Int) async throws {
        let (server, requests) = try server([status])
        let http = try client(retries: 3)
        let request = HTTPRequest(.get, try server.url(), repeatability: .safe, verdict: { _ in .final })
        #expect(try await http.execute(request).status == status)
        #expect(requests.value == 1)
    }

    @Test("a temporary failure is retried, depending on its content", .timeLimit(.minutes(1)))
    func passing() async throws {
        let (server, requests) = try server([500])
        let request = HTTPRequest(
            .post,
            try server.url(),
            body: BytesBody("x"),
            repeatability: .safe,
            verdict: { $0.body == Array("{\"n\":3}".utf8) ? .byStatus : .passing }
        )
        let response = try await client(retries: 5).execute(request)
        #expect(response.status == 500 && response.metrics.attempts == 3)
        #expect(requests.value == 3)
    }

    @Test(
        "a classification never repeats a request that may be sent only once",
        arguments: [Repeatability.atMostOnce, .resumable]
    )
    func atMostOnce(repeatability: Repeatability) async throws {
        let (server, requests) = try server([500, 200])
        let request = HTTPRequest(.post, try server.url(), repeatability: repeatability, verdict: { _ in .passing })
        #expect(try await client(retries: 3).execute(request).status == 500)
        #expect(requests.value == 1)
    }

    @Test("a final 503 starts no cooldown", .timeLimit(.minutes(1)))
    func noCooldown() async throws {
        let (server, _) = try server([503, 200])
        let http = try HTTPClient(
            configuration: HTTPClientConfiguration(
                retry: RetryPolicy(retries: 0, base: .seconds(3600), cap: .seconds(3600))
            )
        )
        let request = HTTPRequest(.get, try server.url(), repeatability: .atMostOnce, verdict: { _ in .final })
        #expect(try await http.execute(request).status == 503)
        #expect(try await http.execute(request).status == 200)
    }
}
