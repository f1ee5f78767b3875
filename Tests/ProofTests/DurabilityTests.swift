import TestSupport
import Testing

/// The order of writes to the disk, as seen by the kernel.
@Suite struct DurabilityTests {
    @Test(
        .enabled(if: SystemCallTrace.isAvailable),
        arguments: [([], "uploaded"), (["--json"], #"\"state\":\"done\""#)]
    )
    func everythingIsOnTheDiskBeforeItIsReported(options: [String], word: String) async throws {
        let server = try ProofServer { connection, request, _ in
            try connection.respond(201, request.file?.response ?? "{}")
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
        #expect(rescueSynced.end < committed.begin, "the response is on disk before it is parsed")
        let commitSynced = try #require(trace.first(syncs, on: "tokens.sqlite-wal", after: committed))
        let reported = try #require(trace.first(["write", "sendto"], on: "(1<", holding: word))
        #expect(commitSynced.end < reported.begin, "the token is durable before success is reported")
        #expect(trace.calls.allSatisfy { call in !syncs.contains(call.name) || call.text.hasSuffix("= 0") })
    }

    @Test(
        .enabled(if: SystemCallTrace.isAvailable),
        arguments: [([], "downloaded "), (["--json"], #"\"state\":\"verified\""#)]
    )
    func aDownloadIsOnTheDiskBeforeItHasItsName(options: [String], word: String) async throws {
        let bench = try await PhotoBench.loggedIn()
        try await bench.sandbox.addPhotos(#"{"content":"one two three","dateTaken":"2024-03-05T10:20:30Z"}"#)
        try await bench.succeed("sync")
        let tracePath = bench.runner.home.file("trace")
        let result = try await bench.runner.run(
            ["sync", "download", "--missing", "--to", bench.target] + options,
            through: SystemCallTrace.wrapper(writing: tracePath, calls: "write,pwrite64,fsync,fdatasync,renameat2")
        )
        #expect(result.exitCode == 0)
        let trace = try SystemCallTrace(contentsOf: tracePath)
        let directory = bench.target + "/2024/03>"
        let syncs: Set = ["fsync", "fdatasync"]

        let written = try #require(trace.first(["pwrite64", "write"], on: "mediactl-part", holding: "one two three"))
        let fileSynced = try #require(trace.first(["fsync"], on: "mediactl-part", after: written))
        let named = try #require(trace.first(["renameat2"], on: directory, holding: "RENAME_NOREPLACE"))
        #expect(fileSynced.end < named.begin, "a name refers to bytes on the disk")
        let known = try #require(trace.first(syncs, on: "library.sqlite-wal", after: fileSynced))
        #expect(known.end < named.begin, "the library has the digest before the file has its name")
        let nameSynced = try #require(trace.first(["fsync"], on: directory, after: named))
        let recorded = try #require(trace.first(["pwrite64"], on: "library.sqlite-wal", after: named))
        #expect(nameSynced.end < recorded.begin)
        let recordSynced = try #require(trace.first(syncs, on: "library.sqlite-wal", after: recorded))
        let reported = try #require(trace.first(["write"], on: "(1<", holding: word))
        #expect(recordSynced.end < reported.begin, "only complete downloads are reported as downloaded")
    }
}
