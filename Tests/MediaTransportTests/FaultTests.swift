import Foundation
import MediaTransport
import Synchronization
import TestSupport
import Testing

@Suite("Transfer faults", .prompt)
struct FaultTests {
    private func post(
        _ url: RequestURL,
        _ body: any RequestBody,
        _ repeatability: Repeatability = .atMostOnce,
        timeouts: TransferTimeouts = TransferTimeouts()
    ) -> HTTPRequest {
        HTTPRequest(.post, url, body: body, repeatability: repeatability, timeouts: timeouts)
    }

    /// The second request is read to its last byte and gets no response, or its connection is reset after some bytes.
    @Test(
        "a POST whose kept-alive connection breaks before the response reaches the server once",
        arguments: [
            (5, nil), (64_000, nil), (200_000, nil), (1 << 20, nil), ((1 << 20) + 1, nil), (3_000_000, nil),
            (1_000_000, 1), (1_000_000, 50_000), (1_000_000, 999_999),
        ] as [(Int64, Int?)]
    )
    func atMostOnce(bodyLength: Int64, resetAfter count: Int?) async throws {
        let requests = Mutex(0)
        let server = try ScriptedServer { connection, _ in
            while true {
                let head = try connection.readHead()
                let number = requests.withLock { requests in
                    requests += 1
                    return requests
                }
                if number == 2, let count {
                    try connection.readBody(count)
                    return connection.reset()
                }
                if head.contains("Expect: 100-continue") { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
                try connection.readBody(ScriptedServer.Connection.contentLength(of: head))
                if number == 2 { return }
                try connection.respond(201, "{}")
            }
        }
        let http = try client(retries: 3)
        let url = try server.url()
        _ = try await http.execute(post(url, CountingBody(bodyLength)))
        let error = try await transportError(of: post(url, CountingBody(bodyLength)), by: http)
        #expect(error?.kind == .connectionLost)
        #expect(count != nil || error?.metrics.bodyComplete == true)
        #expect(error?.isBeforeRequest == false)
        // A later request proves that the server would have counted a repetition.
        _ = try await http.execute(post(url, CountingBody(bodyLength)))
        #expect(requests.withLock { $0 } == 3)
    }

    @Test(
        "a body sent to a server that then exited counts as sent",
        arguments: [Repeatability.atMostOnce, .resumable, .safe]
    )
    func deadServer(_ repeatability: Repeatability) async throws {
        let (second, isSilent) = (Gate(), Gate())
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.respond(201, "{}")
            try connection.readRequest()
            second.open()
            isSilent.wait()
        }
        let http = try client()
        let url = try server.url()
        _ = try await http.execute(post(url, CountingBody(100_000), repeatability))
        async let failed = transportError { () async throws(TransportError) in
            try await http.execute(post(url, CountingBody(100_000), repeatability))
        }
        await second.opened()
        server.stopListening()
        isSilent.open()
        let error = await failed
        #expect(error?.kind == .connectionLost)
        #expect(error?.isBeforeRequest == false)
        #expect(error?.metrics.bodyBytesSent == 100_000)
        #expect(error?.metrics.bodyComplete == true)
    }

    @Test(
        "once a server has accepted a body, others of up to 1 MiB share a connection without Expect",
        arguments: [(65_536, 1, 0), (65_537, 1, 1), (100_000, 1, 1), (1 << 20, 1, 1), ((1 << 20) + 1, 5, 5)]
    )
    func keptConnection(bodyLength: Int64, connections: Int, requested: Int) async throws {
        let expectations = Mutex(0)
        let server = try ScriptedServer { connection, _ in
            while true {
                let request = try connection.readRequest()
                if request.head.contains("\r\nExpect:") { expectations.withLock { $0 += 1 } }
                try connection.respond(201, "{}")
            }
        }
        let http = try client()
        let url = try server.url()
        for _ in 0..<5 { #expect(try await http.execute(post(url, CountingBody(bodyLength))).status == 201) }
        #expect(server.connectionCount == connections)
        #expect(expectations.withLock { $0 } == requested)
    }

    /// A server or a router may have dropped the connection, and a request that may be sent only once would be lost.
    @Test("a POST does not use a connection that was idle for longer than the limit", arguments: [(1, 2), (3600, 1)])
    func idleConnection(idleSeconds: Int, connections: Int) async throws {
        let server = try ScriptedServer { connection, _ in
            while true {
                try connection.readRequest()
                try connection.respond(201, "{}")
            }
        }
        let done = Gate()
        defer { done.open() }
        let silent = try ScriptedServer { _, _ in done.wait() }
        let http = try client(idleLimit: .seconds(idleSeconds))
        let (url, silentURL) = (try server.url(), try silent.url())
        _ = try await http.execute(post(url, CountingBody(5)))
        // libcurl compares whole seconds.
        let timeouts = TransferTimeouts(response: .seconds(3))
        let error = try await transportError(of: post(silentURL, CountingBody(5), timeouts: timeouts), by: http)
        #expect(error?.kind == .responseTimeout)
        _ = try await http.execute(post(url, CountingBody(5)))
        #expect(server.connectionCount == connections)
    }

    @Test("after a server has disconnected, Expect is sent again")
    func unfamiliar() async throws {
        let expectations = Mutex<[Bool]>([])
        let server = try ScriptedServer { connection, _ in
            while true {
                let request = try connection.readRequest()
                let number = expectations.withLock { list in
                    list.append(request.head.contains("\r\nExpect:"))
                    return list.count
                }
                if number == 3 { return }
                try connection.respond(201, "{}")
            }
        }
        let http = try client()
        let url = try server.url()
        for _ in 0..<5 { _ = try? await http.execute(post(url, CountingBody(100_000))) }
        #expect(expectations.withLock { $0 } == [true, false, false, true, false])
    }

    @Test("after a server has refused a body without reading it, Expect is sent again")
    func refusedBody() async throws {
        let refusedLength = 2 << 20
        let expectations = Mutex<[Bool]>([])
        let server = try ScriptedServer { connection, _ in
            while true {
                let head = try connection.readHead()
                let expectsContinue = head.contains("\r\nExpect:")
                expectations.withLock { $0.append(expectsContinue) }
                let length = ScriptedServer.Connection.contentLength(of: head)
                guard length < refusedLength else {
                    return try connection.respond(413, "{}", headers: ["Connection: close"])
                }
                if expectsContinue { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
                try connection.readBody(length)
                try connection.respond(201, "{}")
            }
        }
        let http = try client()
        let url = try server.url()
        let lengths = [100_000, 100_000, Int64(refusedLength), 100_000, 100_000]
        var statuses: [Int] = []
        for length in lengths { statuses.append(try await http.execute(post(url, CountingBody(length))).status) }
        #expect(statuses == [201, 201, 413, 201, 201])
        #expect(expectations.withLock { $0 } == [true, false, true, true, false])
    }

    @Test(
        "a refusal before the body is read is a response, not a lost connection",
        arguments: [100_000, 1 << 20],
        [true, false]
    )
    func earlyRefusal(bodyLength: Int64, isKept: Bool) async throws {
        let server = try ScriptedServer { connection, number in
            if isKept {
                try connection.readRequest()
                try connection.respond(201, "{}")
            }
            try connection.readHead()
            // Like Apache and nginx: respond at once, then read incoming bytes for a while.
            try connection.respond(401, "<html>", type: "text/html", headers: ["Connection: close"])
            connection.waitForClose()
        }
        let http = try client()
        let url = try server.url()
        if isKept { _ = try await http.execute(post(url, CountingBody(bodyLength))) }
        let response = try await http.execute(post(url, CountingBody(bodyLength)))
        #expect(response.status == 401)
    }

    @Test("the first refusal is a response even if the server closes at once", arguments: 1...10)
    func hastyRefusal(round: Int) async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readHead()
            try connection.respond(401, "<html>", type: "text/html", headers: ["Connection: close"])
        }
        let response = try await client().execute(post(server.url(), CountingBody(1 << 20)))
        #expect(response.status == 401)
        #expect(response.metrics.bodyBytesSent == 0)
    }

    @Test("a GET whose connection is lost is repeated")
    func safeIsRepeated() async throws {
        let server = try ScriptedServer { connection, number in
            try connection.readRequest()
            if number == 1 { return connection.reset() }
            try connection.respond(200, "{}")
        }
        let response = try await client(retries: 2).execute(HTTPRequest(.get, server.url(), repeatability: .safe))
        #expect(response.status == 200)
        #expect(response.metrics.attempts == 2)
    }

    @Test("temporary refusals are retried only for safe requests", arguments: [408, 429, 502, 503, 504])
    func retriedStatus(status: Int) async throws {
        let server = try ScriptedServer { connection, number in
            while true {
                try connection.readRequest()
                try connection.respond(
                    number == 1 ? status : 200,
                    "{}",
                    headers: ["Retry-After: 0", "Connection: close"]
                )
            }
        }
        let http = try client(retries: 2)
        let safe = try await http.execute(HTTPRequest(.get, server.url(), repeatability: .safe))
        #expect(safe.status == 200 && safe.metrics.attempts == 2)

        let once = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.respond(status, "{}", headers: ["Connection: close"])
        }
        let refused = try await http.execute(post(once.url(), BytesBody("x")))
        #expect(refused.status == status && refused.metrics.attempts == 1)
        #expect(once.connectionCount == 1)
    }

    @Test("the last refusal is the response when the retries are used up")
    func retriesEnd() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.respond(503, "{}", headers: ["Connection: close"])
        }
        let response = try await client(retries: 2).execute(HTTPRequest(.get, server.url(), repeatability: .safe))
        #expect(response.status == 503 && response.metrics.attempts == 3)
        #expect(server.connectionCount == 3)
    }

    @Test("a body that is sent again starts from its first byte")
    func rewoundBody() async throws {
        let bodies = Mutex<[Int]>([])
        let server = try ScriptedServer { connection, number in
            let request = try connection.readRequest()
            bodies.withLock { $0.append(request.body.count) }
            if number == 1 { return connection.reset() }
            try connection.respond(200, "{}")
        }
        let response = try await client(retries: 1).execute(post(server.url(), CountingBody(300_000), .safe))
        #expect(response.status == 200)
        #expect(bodies.withLock { $0 } == [300_000, 300_000])
    }

    @Test(
        "a reset after N bytes is a lost connection; if all bytes were read, the body was complete",
        arguments: [0, 1, 4096, 99_999, 100_000]
    )
    func reset(after count: Int) async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readHead()
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            try connection.readBody(count)
            connection.reset()
        }
        let error = try await transportError(of: post(server.url(), CountingBody(100_000)))
        #expect(error?.kind == .connectionLost)
        if count == 100_000 { #expect(error?.metrics.bodyComplete == true) }
        #expect(server.connectionCount == 1)
    }

    @Test("a truncated response is a lost connection whose head is known")
    func cutResponse() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.write("HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"id\":1,")
        }
        let error = try await transportError(of: post(try server.url(), BytesBody("x")))
        #expect(error?.kind == .connectionLost)
        #expect(error?.head?.status == 201)
        #expect(error?.metrics.bodyComplete == true)
    }

    @Test("a response that is not HTTP is invalid")
    func notHTTP() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.write("220 mail.example.org ESMTP\r\n")
        }
        let error = try await transportError(of: HTTPRequest(.get, try server.url(), repeatability: .safe))
        #expect(error?.kind == .invalidResponse)
    }

    @Test("a refused connection and an unresolved name are distinguished and known to precede the request")
    func unreachable() async throws {
        let http = try client(retries: 1)
        for (address, kind) in [
            ("http://127.0.0.1:1", TransportError.Kind.cannotConnect), ("http://no-such-host.invalid", .unknownHost),
        ] {
            let url = try ServerURL(address).resource("/")
            let error = try await transportError(of: HTTPRequest(.get, url, repeatability: .safe), by: http)
            #expect(error?.kind == kind)
            #expect(error?.isBeforeRequest == true)
            #expect(error?.metrics.attempts == 2)
        }
    }

    @Test("a peer that stops reading is a stall, independent of the response timeout (trap T20)")
    func stallWhileSending() async throws {
        let done = Gate()
        let server = try ScriptedServer(receiveBuffer: 4096) { connection, _ in
            try connection.readHead()
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            done.wait()
        }
        defer { done.open() }
        let request = post(
            try server.url(),
            CountingBody(50 << 20),
            timeouts: TransferTimeouts(stall: .milliseconds(300), response: .seconds(600))
        )
        let error = try await transportError(of: request)
        #expect(error?.kind == .stalled)
        #expect(error?.metrics.bodyComplete == false)
    }

    @Test("silence after the last byte is not a stall: the response timeout applies (trap T20)")
    func silenceAfterBody() async throws {
        let phases = ProgressLog()
        let processing = Gate()
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            // Responds only when the client itself has reported that it is waiting, well past the stall limit.
            processing.wait()
            try connection.respond(201, "{}")
        }
        let request = post(
            try server.url(),
            CountingBody(200_000),
            // Short enough to wait for, long enough for a server that has to wait for a processor.
            timeouts: TransferTimeouts(stall: .seconds(1), response: .seconds(120))
        )
        let started = ContinuousClock.now
        let response = try await client().execute(request) { progress in
            phases.add(progress)
            guard progress.phase == .processing else { return }
            Thread.detachNewThread {
                // Stays silent for three stall limits, measured with the watchdog's clock.
                while ContinuousClock.now - started < .seconds(3) { usleep(10_000) }
                processing.open()
            }
        }
        #expect(response.status == 201)
        #expect(phases.all.contains { $0.phase == .processing && $0.bytesAcknowledged == 200_000 })
    }

    @Test("a response timeout is a separate error, and the body was complete")
    func responseTimeout() async throws {
        let done = Gate()
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            done.wait()
        }
        defer { done.open() }
        let request = post(
            try server.url(),
            BytesBody("x"),
            timeouts: TransferTimeouts(response: .milliseconds(200))
        )
        let error = try await transportError(of: request)
        #expect(error?.kind == .responseTimeout)
        #expect(error?.metrics.bodyComplete == true)
    }

    @Test("a body that cannot be read aborts before its last byte")
    func bodyFails() async throws {
        struct Broken: RequestBody, Error {
            var byteCount: Int64 { 1_000_000 }
            func makeReader() -> any RequestBodyReader { Reader() }
            final class Reader: RequestBodyReader {
                var isSecond = false
                func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
                    if isSecond { throw Broken() }
                    isSecond = true
                    return 1000
                }
                func rewind() {}
            }
        }
        let server = try ScriptedServer { connection, _ in try connection.readRequest() }
        let error = try await transportError(of: post(try server.url(), Broken()))
        #expect(error?.kind == .bodyUnreadable)
        #expect(error?.underlying is Broken)
        #expect(error?.metrics.bodyComplete == false)
    }

    @Test("a receiver that fails aborts the transfer with its error")
    func receiverFails() async throws {
        struct Full: ResponseReceiver, Error {
            func begin(_ head: HTTPResponseHead) {}
            func receive(_ bytes: UnsafeRawBufferPointer) throws { throw Full() }
        }
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.respond(201, "{}")
        }
        let request = HTTPRequest(.get, try server.url(), repeatability: .safe, destination: .receiver(Full()))
        let error = try await transportError(of: request)
        #expect(error?.kind == .receiverFailed)
        #expect(error?.underlying is Full)
    }
}
