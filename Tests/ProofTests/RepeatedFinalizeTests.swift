import Foundation
import MediaStore
import TestSupport
import Testing

/// A process is killed during a finalize request, and the one that repeats the request is killed when it has the
/// response, which never contains a token (trap T8). The process that adopts that response reports the lost token.
@Suite struct RepeatedFinalizeTests {
    @Test(arguments: ["d1", "d3"]) func theLostTokenIsReportedByTheNextProcess(dialect: String) async throws {
        let sandbox = try await SandboxProcess.start(
            dialect: dialect,
            faults: ["finalize:delay-response=60,times=1"]
        )
        let bench = try Bench(sandbox.baseURL)
        let file = try bench.movie(100_000)
        let first = try await bench.runner.run(
            ["upload", file, "--transport", "tus", "--json"] + bench.login,
            extra: ["MEDIACTL_KILL_AT": "finalizeSent"]
        )
        #expect(first.signal == SIGKILL, "\(first.output)\(first.errors)")
        let second = try await bench.runner.run(
            ["uploads", "resume", "--all", "--settle-timeout", "1", "--json"] + bench.login,
            extra: ["MEDIACTL_KILL_AT": "responseInRescueFile"]
        )
        #expect(second.signal == SIGKILL, "\(second.output)\(second.errors)")

        _ = try await bench.runner.run(["uploads", "status", "--json"] + bench.login)
        #expect(try bench.tokens().isEmpty)
        #expect(try bench.journal().map(\.state) == [.tokenLost])
    }

    /// Where uploads over tus do not get a delete token, none is lost (gighive-d4 contract section 3).
    @Test func aRepeatedFinalizeWithoutTokensLosesNothing() async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4", faults: ["finalize:drop-response,times=1"])
        let bench = try Bench(sandbox.baseURL)
        let file = try bench.movie(100_000)
        let first = try await bench.runner.run(
            ["upload", file, "--transport", "tus", "--retries", "0", "--json"] + bench.login,
            extra: ["MEDIACTL_KILL_AT": "beforeTokenCommit"]
        )
        #expect(first.signal == SIGKILL, "\(first.output)\(first.errors)")
        #expect(try bench.journal().map(\.state) == [.unknownOutcome])

        _ = try await bench.runner.run(["uploads", "status", "--json"] + bench.login)
        #expect(try bench.journal().map(\.state) == [.done])
    }
}
