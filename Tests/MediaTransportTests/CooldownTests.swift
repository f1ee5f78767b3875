import MediaTransport
import Synchronization
import TestSupport
import Testing

@Suite("A server that requests a cooldown", .prompt)
struct CooldownTests {
    private func client(cap: Duration) throws -> HTTPClient {
        try HTTPClient(
            configuration: HTTPClientConfiguration(
                retry: RetryPolicy(retries: 0, base: .zero, retryAfterCap: cap)
            )
        )
    }

    /// Rejects its first request, then responds with 200.
    private func server(_ status: Int) throws -> ScriptedServer {
        let requests = Mutex(0)
        return try ScriptedServer { connection, _ in
            while true {
                try connection.readRequest()
                let isFirst = requests.withLock { count in
                    count += 1
                    return count == 1
                }
                try connection.respond(isFirst ? status : 200, "{}", headers: isFirst ? ["Retry-After: 3600"] : [])
            }
        }
    }

    @Test("all requests from the client wait, whatever their kind", .timeLimit(.minutes(4)), arguments: [429, 503])
    func wait(status: Int) async throws {
        let server = try server(status)
        let http = try client(cap: .milliseconds(300))
        let url = try server.url()
        let refused = ContinuousClock.now
        #expect(try await http.execute(HTTPRequest(.get, url, repeatability: .safe)).status == status)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for repeatability in [Repeatability.safe, .atMostOnce, .resumable] {
                group.addTask {
                    let request = HTTPRequest(.post, url, body: BytesBody("x"), repeatability: repeatability)
                    let status = try await http.execute(request).status
                    // Not before the limit has passed; how much later depends on the machine.
                    #expect(refused.duration(to: .now) >= .milliseconds(300))
                    return status
                }
            }
            for try await status in group { #expect(status == 200) }
        }
    }

    @Test("every wait is reported", .timeLimit(.minutes(4)), arguments: [429, 503])
    func reported(status: Int) async throws {
        let server = try server(status)
        let notices = Mutex<[WaitNotice]>([])
        var configuration = HTTPClientConfiguration(
            retry: RetryPolicy(retries: 1, base: .zero, retryAfterCap: .milliseconds(300))
        )
        configuration.onWait = { notice in notices.withLock { $0.append(notice) } }
        let http = try HTTPClient(configuration: configuration)
        #expect(try await http.execute(HTTPRequest(.get, server.url(), repeatability: .safe)).status == 200)
        let first = try #require(notices.withLock { $0 }.first)
        #expect(first.status == status && first.requested == .seconds(3600) && first.delay == .milliseconds(300))
    }

    @Test("a client that does not wait fails without sending", .timeLimit(.minutes(1)), arguments: [429, 503])
    func failing(status: Int) async throws {
        let server = try server(status)
        var configuration = HTTPClientConfiguration(retry: RetryPolicy(retries: 0, retryAfterCap: .seconds(3600)))
        configuration.waitsForRetryAfter = false
        let http = try HTTPClient(configuration: configuration)
        let url = try server.url()
        #expect(try await http.execute(HTTPRequest(.get, url, repeatability: .safe)).status == status)
        let request = HTTPRequest(.post, url, body: CountingBody(10), repeatability: .atMostOnce)
        let error = try await transportError(of: request, by: http)
        guard case .rateLimited(status, let rest)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rest > .seconds(3000) && error?.isBeforeRequest == true)
    }

    @Test("other origins and other clients do not wait", .timeLimit(.minutes(4)))
    func others() async throws {
        let (busy, idle) = (try server(503), try server(200))
        let http = try client(cap: .seconds(3600))
        _ = try await http.execute(HTTPRequest(.get, busy.url(), repeatability: .safe))
        #expect(try await http.execute(HTTPRequest(.get, idle.url(), repeatability: .safe)).status == 200)
        let other = try client(cap: .seconds(3600))
        #expect(try await other.execute(HTTPRequest(.get, busy.url(), repeatability: .safe)).status == 200)
    }

    @Test(
        "any kind of request waits; a stop ends the wait, and the request is never sent",
        .timeLimit(.minutes(4)),
        arguments: [Repeatability.safe, .atMostOnce, .resumable],
        [0, 1, 2]
    )
    func stop(repeatability: Repeatability, way: Int) async throws {
        let server = try server(429)
        let http = try client(cap: .seconds(3600))
        let url = try server.url()
        _ = try await http.execute(HTTPRequest(.get, url, repeatability: .safe))
        let (waiting, control) = (Gate(), TransferControl())
        let task = Task {
            await transportError { () async throws(TransportError) in
                try await http.execute(
                    HTTPRequest(.post, url, body: CountingBody(10), repeatability: repeatability),
                    control: control
                ) { if $0.phase == .waitingToRetry { waiting.open() } }
            }
        }
        #expect(await waiting.opened())
        switch way {
        case 0: control.stop()
        case 1: control.abandon()
        default: task.cancel()
        }
        let error = await task.value
        #expect(error?.kind == .cancelled)
        #expect(error?.metrics.bodyBytesSent == 0 && error?.metrics.bodyComplete == false)
        #expect(server.connectionCount == 1)
    }
}
