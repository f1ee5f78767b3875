import TestSupport
import Testing

/// What reaches the disk, and when, as the kernel sees it.
@Suite struct DurabilityTests {
    @Test(
        .enabled(if: SystemCallTrace.isAvailable),
        arguments: [([], "uploaded"), (["--json"], #"\"state\":\"done\""#)]
    )
    func everythingIsOnTheDiskBeforeItIsSaid(options: [String], word: String) async throws {
        let server = try ProofServer { connection, request, _ in
            try connection.answer(201, request.file?.reply ?? "{}")
        }
        let bench = try Bench(server.address)
        let tracePath = bench.runner.home.file("trace")
        let result = try await bench.runner.run(
            ["upload", try bench.file()] + options + bench.login,
            through: SystemCallTrace.wrapper(writing: tracePath)
        )
        #expect(result.exitCode == 0)
        let token = KnownFile.abc.token
        let trace = try SystemCallTrace(contentsOf: tracePath)
        let syncs: Set = ["fsync", "fdatasync"]
        let writes: Set = ["write", "pwrite64"]

        let rescued = try #require(trace.first(writes, on: "/rescue-", holding: token))
        let rescueSynced = try #require(trace.first(syncs, on: "/rescue-", after: rescued))
        let committed = try #require(trace.first(writes, on: "tokens.sqlite-wal", holding: token))
        #expect(rescueSynced.end < committed.begin, "the reply is safe before it is understood")
        let commitSynced = try #require(trace.first(syncs, on: "tokens.sqlite-wal", after: committed))
        let said = try #require(trace.first(["write", "sendto"], on: "(1<", holding: word))
        #expect(commitSynced.end < said.begin, "the token is durable before success is claimed")
        #expect(trace.calls.allSatisfy { call in !syncs.contains(call.name) || call.text.hasSuffix("= 0") })
    }
}
