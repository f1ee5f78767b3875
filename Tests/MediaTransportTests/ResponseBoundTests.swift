import Foundation
import MediaTransport
import TestSupport
import Testing

/// Limits on the bytes that a server may send in addition to the content, and on the time it may take.
@Suite("Bounds of a response")
struct ResponseBoundTests {
    /// Sends the same text until the client closes the connection.
    private func endless(
        _ start: String,
        _ text: String,
        pause: useconds_t = 0
    ) throws -> ScriptedServer {
        try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.write(start)
            while true {
                try connection.write(text)
                if pause > 0 { usleep(pause) }
            }
        }
    }

    private func failure(
        of server: ScriptedServer,
        _ timeouts: TransferTimeouts,
        _ method: HTTPMethod = .get,
        _ destination: ResponseDestination = .memory(limit: 8 << 20)
    ) async throws -> TransportError? {
        let request = HTTPRequest(
            method,
            try server.url(),
            repeatability: .atMostOnce,
            timeouts: timeouts,
            destination: destination
        )
        return try await transportError(of: request)
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"

    @Test(
        "endless heads and trailers are refused as too large",
        arguments: [
            (chunked, "X-Trailer: " + String(repeating: "x", count: 1000) + "\r\n"),
            ("", "HTTP/1.1 102 Processing\r\nX-Interim: " + String(repeating: "x", count: 1000) + "\r\n\r\n"),
        ]
    )
    func endlessHeaders(start: String, text: String) async throws {
        let server = try endless(start, text)
        let error = try await failure(of: server, TransferTimeouts(stall: .seconds(600), response: .seconds(600)))
        #expect(error?.kind == .responseTooLarge)
    }

    @Test(
        "slow bytes and interim responses do not extend the response timeout",
        arguments: [
            ("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", " "),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n"),
            ("HTTP/1.1 200 OK\r\n", "X: 1\r\n"),
            ("", "HTTP/1.1 102 Processing\r\n\r\n"),
        ]
    )
    func drips(start: String, text: String) async throws {
        let server = try endless(start, text, pause: 50_000)
        let error = try await failure(of: server, TransferTimeouts(stall: .seconds(600), response: .milliseconds(500)))
        #expect(error?.kind == .responseTimeout)
    }

    private final class Sink: ResponseReceiver {
        func begin(_: HTTPResponseHead) {}
        func receive(_: UnsafeRawBufferPointer) {}
    }

    @Test(
        "the response to an upload and a refusal are limited even if a receiver reads them",
        arguments: [(.post, 200), (.get, 403), (.get, 503)] as [(HTTPMethod, Int)]
    )
    func otherResponses(method: HTTPMethod, status: Int) async throws {
        let server = try endless("HTTP/1.1 \(status) X\r\nContent-Length: 1000000\r\n\r\n", " ", pause: 50_000)
        let timeouts = TransferTimeouts(stall: .seconds(600), response: .milliseconds(500))
        #expect(try await failure(of: server, timeouts, method, .receiver(Sink()))?.kind == .responseTimeout)
    }

    @Test("a download has no time limit while bytes arrive")
    func download() async throws {
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n")
            for _ in 0..<20 {
                try connection.write("x")
                usleep(50_000)
            }
        }
        let timeouts = TransferTimeouts(stall: .seconds(60), response: .milliseconds(500))
        #expect(try await failure(of: server, timeouts, .get, .receiver(Sink())) == nil)
    }

    @Test("interim responses do not hide a peer that stops reading")
    func interimWhileSending() async throws {
        let server = try ScriptedServer(receiveBuffer: 4096) { connection, _ in
            try connection.readHead()
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            while true {
                try connection.write("HTTP/1.1 102 Processing\r\n\r\n")
                usleep(50_000)
            }
        }
        let request = HTTPRequest(
            .post,
            try server.url(),
            body: CountingBody(50 << 20),
            repeatability: .atMostOnce,
            timeouts: TransferTimeouts(stall: .milliseconds(500), response: .seconds(600))
        )
        let error = try await transportError(of: request)
        #expect(error?.kind == .stalled)
    }
}
