import Foundation
import Glibc
import MediaTransport
import Synchronization
import TestSupport
import Testing

/// A body whose reader holds back everything after a number of bytes.
private final class HeldBody: RequestBody {
    let byteCount: Int64
    private let freeBytes: Int64
    private let state = Mutex((isHeld: true, wake: (@Sendable () -> Void)?.none, requested: 0))

    init(_ byteCount: Int64, holdingAfter freeBytes: Int64) {
        self.byteCount = byteCount
        self.freeBytes = freeBytes
    }

    /// How often the client has checked whether the reader holds the body back.
    var readCount: Int { state.withLock { $0.requested } }

    func release() {
        let wake = state.withLock { state in
            state.isHeld = false
            return state.wake
        }
        wake?()
    }

    func makeReader() -> any RequestBodyReader { Reader(self) }

    private final class Reader: RequestBodyReader {
        let body: HeldBody
        var offset: Int64 = 0

        init(_ body: HeldBody) { self.body = body }

        var isHeld: Bool {
            body.state.withLock { state in
                state.requested += 1
                return state.isHeld && offset == body.freeBytes
            }
        }

        func onRelease(_ wake: @escaping @Sendable () -> Void) {
            body.state.withLock { $0.wake = wake }
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let end = offset < body.freeBytes ? body.freeBytes : body.byteCount
            let count = Int(min(Int64(buffer.count), end - offset))
            UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]).initializeMemory(as: UInt8.self, repeating: 0x78)
            offset += Int64(count)
            return count
        }

        func rewind() { offset = 0 }
    }
}

@Suite("Bodies that are held back", .prompt)
struct HeldBodyTests {
    private func patch(_ server: ScriptedServer, _ body: any RequestBody, stall: Duration = .seconds(60)) throws
        -> HTTPRequest
    {
        HTTPRequest(
            .patch,
            try server.url(),
            body: body,
            repeatability: .resumable,
            expectsContinue: false,
            timeouts: TransferTimeouts(stall: stall)
        )
    }

    @Test(
        "the part that is held back is sent after the release, and the part before it is sent at once",
        .timeLimit(.minutes(4)),
        arguments: [(1, 0), (2, 1), (100_000, 0), (100_000, 99_999), (3_000_000, 2_999_999)]
    )
    func release(byteCount: Int, after free: Int) async throws {
        let arrived = Gate()
        let server = try ScriptedServer { connection, _ in
            let head = try connection.readHead()
            #expect(!head.lowercased().contains("expect:"))
            try connection.readBody(free)
            arrived.open()
            try connection.readBody(byteCount - free)
            try connection.respond(200, "{}")
        }
        let body = HeldBody(Int64(byteCount), holdingAfter: Int64(free))
        let http = try client()
        let request = try patch(server, body)
        async let response = http.execute(request)
        #expect(await arrived.opened())
        body.release()
        #expect(try await response.status == 200)
    }

    @Test(
        "a body that is held back does not stall, use CPU time, or block other requests",
        .timeLimit(.minutes(4))
    )
    func noStall() async throws {
        let arrived = Gate()
        let server = try ScriptedServer { connection, _ in
            let head = try connection.readHead()
            guard head.hasPrefix("PATCH") else { return try connection.respond(200, "{}") }
            try connection.readBody(999)
            arrived.open()
            try connection.readBody(1)
            try connection.respond(200, "{}")
        }
        let body = HeldBody(1000, holdingAfter: 999)
        let http = try client()
        let request = try patch(server, body, stall: .milliseconds(500))
        async let response = http.execute(request)
        #expect(await arrived.opened())
        let before = body.readCount
        // The body is held back for several times the stall limit, while the client sends other requests.
        let started = ContinuousClock.now
        var others = 0
        while ContinuousClock.now - started < .seconds(2) {
            _ = try await http.execute(HTTPRequest(.get, server.url(), repeatability: .safe))
            others += 1
        }
        // A busy loop checks hundreds of thousands of times; a loop that wakes only for a reason checks a few times per
        // request.
        #expect(body.readCount - before < 50 + 20 * others)
        body.release()
        #expect(try await response.status == 200)
    }

    @Test("a body that is held back can be stopped", .timeLimit(.minutes(4)), arguments: [0, 1, 2])
    func stop(way: Int) async throws {
        let (arrived, closed) = (Gate(), Gate())
        let server = try ScriptedServer { connection, _ in
            try connection.readHead()
            try connection.readBody(999)
            arrived.open()
            connection.waitForClose()
            closed.open()
        }
        let http = try client()
        let request = try patch(server, HeldBody(1000, holdingAfter: 999))
        let control = TransferControl()
        let task = Task {
            await transportError { () async throws(TransportError) in try await http.execute(request, control: control)
            }
        }
        #expect(await arrived.opened())
        switch way {
        case 0: control.stop()
        case 1: control.abandon()
        default: task.cancel()
        }
        let error = await task.value
        #expect(error?.kind == .cancelled)
        #expect(error?.metrics.bodyBytesSent == 999 && error?.metrics.bodyComplete == false)
        #expect(await closed.opened())
    }

    @Test("an early refusal aborts a body that is held back", .timeLimit(.minutes(4)))
    func earlyRefusal() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readHead()
            try connection.readBody(999)
            try connection.respond(413, "{}", headers: ["Connection: close"])
        }
        let response = try await client().execute(patch(server, HeldBody(1000, holdingAfter: 999)))
        #expect(response.status == 413)
    }

    @Test("resumable requests share one connection, and no request is sent twice", arguments: [5, 200_000, 2_000_000])
    func resumable(byteCount: Int64) async throws {
        let requests = Mutex(0)
        let server = try ScriptedServer { connection, _ in
            while true {
                let request = try connection.readRequest()
                #expect(!request.head.lowercased().contains("expect:"))
                let number = requests.withLock { count in
                    count += 1
                    return count
                }
                if number == 3 { return }
                try connection.respond(204, "")
            }
        }
        let http = try client(retries: 3)
        let url = try server.url()
        let send = { () async throws(TransportError) -> HTTPResponse in
            try await http.execute(
                HTTPRequest(
                    .patch,
                    url,
                    body: CountingBody(byteCount),
                    repeatability: .resumable,
                    expectsContinue: false
                )
            )
        }
        _ = try await send()
        _ = try await send()
        #expect(server.connectionCount == 1)
        let error = await transportError(send)
        #expect(error?.kind == .connectionLost)
        #expect(error?.metrics.bodyBytesSent == byteCount)
        #expect(requests.withLock { $0 } == 3)
    }

    @Test("canceling the task stops a resumable request immediately, even after its body", .timeLimit(.minutes(4)))
    func cancelAfterBody() async throws {
        let (arrived, done) = (Gate(), Gate())
        defer { done.open() }
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            arrived.open()
            done.wait()
        }
        let http = try client()
        let request = try patch(server, CountingBody(1000))
        let task = Task {
            await transportError { () async throws(TransportError) in try await http.execute(request) }
        }
        #expect(await arrived.opened())
        task.cancel()
        #expect(await task.value?.kind == .cancelled)
    }
}
