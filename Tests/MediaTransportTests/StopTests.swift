import Foundation
import MediaTransport
import Synchronization
import TestSupport
import Testing

@Suite("Stop of a transfer", .prompt)
struct StopTests {
    private func upload(_ server: ScriptedServer, _ length: Int64 = 50 << 20) throws -> HTTPRequest {
        HTTPRequest(.post, try server.url(), body: CountingBody(length), repeatability: .atMostOnce)
    }

    /// A server that reads the head and this much of the body, then nothing until the test is over.
    private func server(reading byteCount: Int64, of length: Int64, _ reached: Gate, _ done: Gate) throws
        -> ScriptedServer
    {
        try ScriptedServer(receiveBuffer: byteCount == length ? nil : byteCount == 0 ? 4096 : 65_536) { connection, _ in
            if byteCount == length {
                try connection.readRequest()
            } else {
                try connection.readHead()
                try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                try connection.readBody(Int(byteCount))
            }
            reached.open()
            done.wait()
        }
    }

    /// On a slow line, bytes that take minutes to send would otherwise count as sent: the last MiB of the body fits
    /// into the client's send queue.
    @Test("the end of a body is not sent ahead into the send queue", .timeLimit(.minutes(4)))
    func unsentEnd() async throws {
        let (reached, done) = (Gate(), Gate())
        defer { done.open() }
        let server = try server(reading: 3 << 20, of: 4 << 20, reached, done)
        var request = try upload(server, 4 << 20)
        request.timeouts.stall = .seconds(1)
        let error = try await transportError(of: request)
        #expect(error?.kind == .stalled)
        #expect(error?.metrics.bodyComplete == false)
    }

    enum Way: CaseIterable {
        case stopWhileTheEndWaitsForASlowLine, cancelTheTaskOfAStalledUpload, limitTheWaitForTheResponse, abandonTheWait
    }

    /// The outcome is unknown if the body was complete.
    @Test(
        "a stop ends an upload, and states whether its body is complete",
        .timeLimit(.minutes(4)),
        arguments: Way.allCases
    )
    func stop(way: Way) async throws {
        let (read, length): (Int64, Int64) =
            switch way {
            case .stopWhileTheEndWaitsForASlowLine: (3 << 20, 4 << 20)
            case .cancelTheTaskOfAStalledUpload: (0, 50 << 20)
            case .limitTheWaitForTheResponse, .abandonTheWait: (200_000, 200_000)
            }
        let (reached, done) = (Gate(), Gate())
        defer { done.open() }
        let server = try server(reading: read, of: length, reached, done)
        let (http, request, control) = (try client(), try upload(server, length), TransferControl())
        let task = Task {
            await transportError { () async throws(TransportError) in try await http.execute(request, control: control)
            }
        }
        #expect(await reached.opened())
        switch way {
        case .stopWhileTheEndWaitsForASlowLine: control.stop(finishWithin: .seconds(5))
        case .cancelTheTaskOfAStalledUpload: task.cancel()
        case .limitTheWaitForTheResponse: control.stop(finishWithin: .milliseconds(100))
        case .abandonTheWait:
            control.stop()
            control.abandon()
        }
        let error = await task.value
        #expect(error?.kind == .cancelled)
        #expect(error?.metrics.bodyComplete == (read == length))
    }

    @Test("a control stops an upload before it has started", .timeLimit(.minutes(4)))
    func stopBeforeStart() async throws {
        let server = try ScriptedServer { connection, _ in try connection.readRequest() }
        let control = TransferControl()
        control.stop()
        let error = try await transportError(of: upload(server), control: control)
        #expect(error?.kind == .cancelled)
        #expect(server.connectionCount == 0)
    }

    @Test("after the last byte a stop waits for the response", .timeLimit(.minutes(4)))
    func stopWhileProcessing() async throws {
        let (reached, released) = (Gate(), Gate())
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            reached.open()
            released.wait()
            try connection.respond(201, "{\"token\":1}")
        }
        let http = try client()
        let request = try upload(server, 200_000)
        let control = TransferControl()
        let task = Task { try await http.execute(request, control: control) }
        #expect(await reached.opened())
        control.stop()
        task.cancel()
        released.open()
        let response = try await task.value
        #expect(response.status == 201)
        #expect(!response.body.isEmpty)
    }

    /// The thread of the transfers may not have run for a while, on a busy machine or one that was suspended.
    @Test("a response that has arrived counts, even if the wait for it is over", .timeLimit(.minutes(4)))
    func abandonAfterResponse() async throws {
        let (released, responded) = (Gate(), Gate())
        let server = try ScriptedServer { connection, _ in
            try connection.readRequest()
            released.wait()
            try connection.respond(201, "{\"token\":1}")
            responded.open()
            connection.waitForClose()
        }
        let http = try client()
        let request = try upload(server, 200_000)
        let control = TransferControl()
        let response = try await http.execute(request, control: control) { progress in
            guard progress.phase == .processing else { return }
            // This runs on the thread of the transfers, which therefore sees the stop and the response together.
            control.abandon()
            released.open()
            responded.wait()
        }
        #expect(response.status == 201)
    }

    @Test("a stop interrupts the wait between two attempts", .timeLimit(.minutes(4)))
    func stopBetweenAttempts() async throws {
        let waiting = Gate()
        let http = try HTTPClient(
            configuration: HTTPClientConfiguration(
                retry: RetryPolicy(retries: 5, base: .seconds(3600), cap: .seconds(3600))
            )
        )
        let control = TransferControl()
        let url = try ServerURL("http://127.0.0.1:1").resource("/")
        let task = Task {
            await transportError { () async throws(TransportError) in
                try await http.execute(HTTPRequest(.get, url, repeatability: .safe), control: control) {
                    if $0.phase == .waitingToRetry { waiting.open() }
                }
            }
        }
        #expect(await waiting.opened())
        control.stop()
        #expect(await task.value?.kind == .cancelled)
    }

    @Test("progress never exceeds the bytes read by the reader plus the socket buffers")
    func honestProgress() async throws {
        let readSoFar = Mutex(0)
        let (step, processing) = (Gate(), Gate())
        let total = 16 << 20
        let server = try ScriptedServer(receiveBuffer: 65_536) { connection, _ in
            try connection.readHead()
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            // Pauses at 1 MiB until the client has reported as much, then reads the rest.
            try connection.readBody(1 << 20)
            readSoFar.withLock { $0 = 1 << 20 }
            step.wait()
            readSoFar.withLock { $0 = total }
            try connection.readBody(total - (1 << 20))
            processing.wait()
            try connection.respond(201, "{}")
        }
        let log = ProgressLog()
        let request = try upload(server, Int64(total))
        let response = try await client().execute(request) { progress in
            log.add(progress)
            let read = readSoFar.withLock { $0 }
            if read == 1 << 20 {
                // Linux doubles SO_RCVBUF for its own bookkeeping; the reader itself buffers up to 1 MiB more.
                #expect(progress.bytesAcknowledged <= Int64(read + (1 << 20) + 4 * 65_536))
            }
            if progress.bytesAcknowledged >= 1 << 20 { step.open() }
            if progress.phase == .processing { processing.open() }
        }
        #expect(response.status == 201)
        let sending = log.all.filter { $0.phase == .sending }.map(\.bytesAcknowledged)
        #expect(sending == sending.sorted())
        #expect(log.all.contains { $0.phase == .processing && $0.bytesAcknowledged == Int64(total) })
    }
}
