import Foundation
import MediaStore
import TestSupport
import Testing

/// Signals while the server processes a complete upload: the program waits for the token.
@Suite(.prompt) struct StopSignalTests {
    /// A server that has read the body, and responds when the test allows it.
    private struct Processing {
        let bodyRead = Gate()
        let mayRespond = Gate()
        let server: ProofServer

        init() throws {
            server = try ProofServer { [bodyRead, mayRespond] connection, request, _ in
                bodyRead.open()
                mayRespond.wait()
                try connection.respond(201, request.file?.response ?? "{}")
            }
        }
    }

    @Test(
        arguments: [
            // A logout, and a shutdown: two different signals, or one twice.
            ([SIGTERM, SIGHUP], 143), ([SIGHUP, SIGTERM, SIGHUP], 129), ([SIGTERM, SIGTERM], 143),
            ([SIGUSR2], 140), ([SIGALRM], 142), ([SIGXCPU], 152), ([SIGINT, SIGTERM, SIGHUP], 130),
        ] as [([Int32], Int32)]
    )
    func theTokenIsStored(_ signals: [Int32], _ exitCode: Int32) async throws {
        let processing = try Processing()
        let bench = try Bench(processing.server.address)
        let child = try bench.runner.start(["upload", try bench.file(), "--json"] + bench.login)
        #expect(await processing.bodyRead.opened())
        // Without a suspension in between: the same signal a second later would abandon the token.
        for signal in signals { try child.deliver(signal) }
        // SIGUSR1 only shows the status, after the other signals were handled.
        try await child.signal(SIGUSR1, after: "for the delete token")
        try await child.wait(for: "waiting for the delete token (")
        processing.mayRespond.open()
        let result = try await child.finish()
        #expect(result.exitCode == exitCode)
        #expect(result.states == ["done"])
        #expect(try bench.tokens().map(\.token.secret) == [KnownFile.abc.token])
    }

    @Test func theSameSignalASecondLaterAbandonsTheToken() async throws {
        let processing = try Processing()
        let bench = try Bench(processing.server.address)
        let child = try bench.runner.start(["upload", try bench.file(), "--json"] + bench.login)
        #expect(await processing.bodyRead.opened())
        child.signal(SIGTERM)
        try await child.wait(for: "for the delete token")
        try await child.repeatSignal(SIGTERM)
        let result = try await child.finish()
        processing.mayRespond.open()
        #expect(result.exitCode == 143)
        #expect(result.states == ["unknown_outcome"])
    }
}

extension ChildProcess {
    /// Sends a signal, and waits until the program has taken it: until then it is pending (proc_pid_status(5), ShdPnd).
    fileprivate func deliver(_ number: Int32) throws {
        signal(number)
        let deadline = ContinuousClock.now + .seconds(60)
        var isPending = true
        while isPending {
            try #require(ContinuousClock.now < deadline)
            sched_yield()
            let status = try String(contentsOfFile: "/proc/\(processID)/status", encoding: .utf8)
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("ShdPnd:") })
            let signals = try #require(UInt64(line.dropFirst("ShdPnd:\t".count), radix: 16))
            isPending = signals & 1 << UInt64(number - 1) != 0
        }
    }
}
