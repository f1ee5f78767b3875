import Foundation
import MediaTransport
import Synchronization
import TestSupport
import Testing

@Suite("Requests and responses", .prompt)
struct ExchangeTests {
    @Test("a request with a small body has no Expect header, has the exact length, and accepts only JSON (trap T1)")
    func smallPost() async throws {
        let seen = Mutex("")
        let server = try ScriptedServer { connection, _ in
            let request = try connection.readRequest()
            seen.withLock { $0 = request.head + String(decoding: request.body, as: UTF8.self) }
            try connection.respond(201, "{\"id\":1}", headers: ["X-Two:  spaced  "])
        }
        let response = try await client().execute(
            HTTPRequest(.post, server.url("/api"), body: BytesBody("hello"), repeatability: .atMostOnce)
        )
        #expect(response.status == 201)
        #expect(String(decoding: response.body, as: UTF8.self) == "{\"id\":1}")
        #expect(response.head.value(of: "x-two") == "spaced")
        #expect(response.head.mediaType == "application/json")
        #expect(response.metrics.bodyBytesSent == 5 && response.metrics.bodyComplete)
        let head = seen.withLock { $0 }
        #expect(head.hasPrefix("POST /api HTTP/1.1\r\n"))
        #expect(head.contains("\r\nContent-Length: 5\r\n"))
        #expect(head.contains("\r\nAccept: application/json\r\n"))
        #expect(!head.lowercased().contains("expect:") && !head.contains("text/html"))
        #expect(head.hasSuffix("\r\n\r\nhello"))
    }

    /// `gzip --no-name` of `{"ok":true}`.
    private static let compressed: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 202, 207, 86, 178,
        42, 41, 42, 77, 173, 5, 0, 144, 95, 212, 167, 11, 0, 0, 0,
    ]

    /// A receiver gets the bytes as they arrive: the response to an upload is stored before it is decoded.
    @Test("a response that a proxy compressed on its own initiative is decoded in memory", arguments: [true, false])
    func compressedResponse(toReceiver: Bool) async throws {
        let seen = Mutex("")
        let server = try ScriptedServer { connection, _ in
            let request = try connection.readRequest()
            seen.withLock { $0 = request.head }
            try connection.respond(200, bytes: Self.compressed, headers: ["Content-Encoding: gzip"])
        }
        let receiver = RecordingReceiver()
        var request = try HTTPRequest(.post, server.url(), body: BytesBody("x"), repeatability: .atMostOnce)
        if toReceiver { request.destination = .receiver(receiver) }
        let response = try await client().execute(request)
        if toReceiver {
            #expect(receiver.text == String(decoding: Self.compressed, as: UTF8.self))
        } else {
            #expect(String(decoding: response.body, as: UTF8.self) == #"{"ok":true}"#)
        }
        #expect(!seen.withLock { $0 }.lowercased().contains("accept-encoding"))
    }

    @Test("the decoded size of a compressed response is limited")
    func longCompressedResponse() async throws {
        let server = try ScriptedServer { connection, _ in
            _ = try connection.readRequest()
            try connection.respond(200, bytes: Self.compressed, headers: ["Content-Encoding: gzip"])
        }
        let request = try HTTPRequest(.get, server.url(), repeatability: .safe, destination: .memory(limit: 10))
        let error = try await transportError(of: request)
        #expect(error?.kind == .responseTooLarge)
    }

    @Test("no byte of a large body is sent before it is refused (trap T3)", arguments: [401, 413])
    func earlyRefusal(status: Int) async throws {
        let expected = Mutex(false)
        let server = try ScriptedServer { connection, _ in
            let head = try connection.readHead()
            expected.withLock { $0 = head.contains("\r\nExpect: 100-continue\r\n") }
            try connection.respond(status, "<html>no</html>", type: "text/html", headers: ["Connection: close"])
            connection.waitForClose()
        }
        let body = CountingBody(10 << 20)
        let response = try await client().execute(
            HTTPRequest(.post, server.url(), body: body, repeatability: .atMostOnce)
        )
        #expect(response.status == status)
        #expect(expected.withLock { $0 })
        #expect(body.bytesRead == 0)
        #expect(response.metrics.bodyBytesSent == 0 && !response.metrics.bodyComplete)
    }

    @Test("417 is followed by one retry without Expect (RFC 9110 section 10.1.1)")
    func expectationFailed() async throws {
        let heads = Mutex<[String]>([])
        let server = try ScriptedServer { connection, _ in
            while true {
                let head = try connection.readHead()
                heads.withLock { $0.append(head) }
                if head.contains("Expect: 100-continue") {
                    try connection.respond(417, "no")
                } else {
                    try connection.readBody(ScriptedServer.Connection.contentLength(of: head))
                    try connection.respond(201, "{}")
                }
            }
        }
        let receiver = RecordingReceiver()
        let response = try await client().execute(
            HTTPRequest(
                .post,
                server.url(),
                body: CountingBody(100_000),
                repeatability: .atMostOnce,
                destination: .receiver(receiver)
            )
        )
        #expect(response.status == 201)
        #expect(heads.withLock { $0.map { $0.contains("Expect") } } == [true, false])
        #expect(receiver.statuses == [201])
        #expect(receiver.text == "{}")
    }

    @Test("a redirect is a response and is never followed (credentials stay here)")
    func redirect() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.respond(302, "", headers: ["Location: http://127.0.0.1:1/elsewhere"])
        }
        let response = try await client().execute(HTTPRequest(.get, server.url(), repeatability: .safe))
        #expect(response.status == 302)
        #expect(server.connectionCount == 1)
    }

    @Test("credentials are sent only to their own origin")
    func originBound() async throws {
        let heads = Mutex<[String]>([])
        let server = try ScriptedServer { connection, _ in
            heads.withLock { $0.append("") }
            let head = try connection.readHead()
            heads.withLock { $0[$0.count - 1] = head }
            try connection.respond(200, "{}", headers: ["Connection: close"])
        }
        let origin = try server.url().origin
        let other = try ServerURL("http://127.0.0.1:1").origin
        let http = try client()
        for authorization in [
            Authorization.basic(user: "ann", password: "s:ü", for: origin), .apiKey("k-1", for: origin),
            .basic(user: "ann", password: "s", for: other), .apiKey("k-1", for: other),
        ] {
            _ = try await http.execute(
                HTTPRequest(.get, server.url(), authorization: authorization, repeatability: .safe)
            )
            #expect(!authorization.description.contains("k-1") && !authorization.description.contains("s:ü"))
        }
        let seen = heads.withLock { $0 }
        // printf 'ann:s:ü' | base64
        #expect(seen[0].contains("Authorization: Basic YW5uOnM6w7w=\r\n"))
        #expect(seen[1].contains("X-API-Key: k-1\r\n"))
        #expect(!seen[2].contains("Authorization") && !seen[3].contains("X-API-Key"))
    }

    @Test("a response above the limit is refused")
    func responseLimit() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.respond(200, String(repeating: " ", count: 5000))
            connection.waitForClose()
        }
        let request = HTTPRequest(.get, try server.url(), repeatability: .safe, destination: .memory(limit: 4999))
        let error = try await transportError(of: request)
        #expect(error?.kind == .responseTooLarge)
    }

    @Test("line breaks in a header value cannot add a field")
    func headerInjection() async throws {
        let seen = Mutex("")
        let server = try ScriptedServer { connection, _ in
            let head = try connection.readHead()
            seen.withLock { $0 = head }
            try connection.respond(200, "{}")
        }
        _ = try await client().execute(
            HTTPRequest(.get, server.url(), headers: [HTTPHeader("X-A", "1\r\nX-Evil: 2")], repeatability: .safe)
        )
        #expect(seen.withLock { $0 }.contains("X-A: 1X-Evil: 2\r\n"))
    }

    @Test("several transfers run in parallel")
    func concurrent() async throws {
        let arrived = Gate()
        let release = Gate()
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            arrived.open()
            release.wait()
            try connection.respond(200, "{}")
        }
        let http = try client()
        let url = try server.url()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<8 {
                group.addTask { try await http.execute(HTTPRequest(.get, url, repeatability: .safe)).status }
            }
            // All eight are in progress before the first gets a response.
            for _ in 0..<8 { #expect(await arrived.opened()) }
            for _ in 0..<8 { release.open() }
            for try await status in group { #expect(status == 200) }
        }
        #expect(server.connectionCount == 8)
    }
}

/// Stores the bytes passed to a receiver.
final class RecordingReceiver: ResponseReceiver {
    private let state = Mutex((statuses: [Int](), bytes: [UInt8]()))

    var statuses: [Int] { state.withLock { $0.statuses } }
    var text: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }

    func begin(_ head: HTTPResponseHead) {
        state.withLock { $0.statuses.append(head.status) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) {
        let copy = Array(bytes)
        state.withLock { $0.bytes += copy }
    }
}
