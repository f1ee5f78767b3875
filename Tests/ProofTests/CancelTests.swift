import Foundation
import MediaStore
import TestSupport
import Testing

/// A server that stops reading must not block the user.
@Suite(.prompt) struct CancelTests {
    /// The server stops reading early, or before the last MiB, which fits into the send queue of this machine.
    @Test(arguments: [false, true], [1000, 15 << 20])
    func interruptAgainstAStalledServer(isStandardInput: Bool, count: Int) async throws {
        let stalled = Gate()
        let ended = Gate()
        let server = try ScriptedServer(receiveBuffer: 4096) { connection, _ in
            let head = try connection.readHead()
            guard head.hasPrefix("POST") else { return }
            try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
            try connection.readBody(count)
            stalled.open()
            // However long this takes, only the client can end the connection.
            while !ended.wait() {}
        }
        defer { ended.open() }
        let bench = try Bench(server.address)
        let input = try bench.movie(16 << 20)
        let source = isStandardInput ? ["-", "--stdin-name", "piped.mp4"] : [input]
        let arguments = ["upload", "--json", "--stall-timeout", "600s"] + source + bench.login
        let child = try bench.runner.start(
            arguments,
            streams: isStandardInput ? .separate(input: .file(input)) : .captured
        )
        #expect(await stalled.opened())
        child.signal(SIGINT)
        let result = try await child.finish()
        #expect(result.exitCode == 130)
        #expect(result.states == ["cancelled"])
        #expect(try bench.journal().map(\.state) == [.cancelled])
        #expect(try bench.tokens().isEmpty)
        #expect(bench.leftovers().isEmpty)
    }
}
