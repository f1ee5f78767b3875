import Foundation
import MediaStore
import TestSupport
import Testing

/// Small files, eight in parallel, with intents and tokens that are committed in groups (docs/adr/0047): the same
/// promises as for one file.
@Suite(.prompt) struct BatchProofTests {
    private static let count = 24

    private func movies(_ bench: Bench, _ count: Int = count) throws -> [String] {
        try (10..<10 + count).map { try bench.movie(5000, seed: $0, name: "clip-\($0).mp4") }
    }

    // MARK: Order on the disk

    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement))
    func everyStepIsOnTheDiskBeforeTheNext() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try Bench(sandbox.baseURL)
        let tracePath = bench.runner.home.file("trace")
        // A slow disk: changes and responses accumulate while it is busy.
        let strace = SystemCallTrace.wrapper(writing: tracePath)
        let result = try await bench.runner.run(
            ["upload", "-j", "8", "--json"] + (try movies(bench)) + bench.login,
            through: strace.prefix(1) + ["-e", "inject=fdatasync:delay_enter=10000"] + strace.dropFirst()
        )
        #expect(result.exitCode == 0)
        let trace = try SystemCallTrace(contentsOf: tracePath)
        let tokens = try bench.tokens()
        #expect(tokens.count == Self.count)
        let syncs: Set = ["fsync", "fdatasync"]
        let writes: Set = ["write", "pwrite64"]
        let wal = "tokens.sqlite-wal"
        for entry in tokens {
            let (name, token) = (entry.fileName, entry.token.secret)
            let planned = try #require(trace.first(writes, on: wal, holding: name))
            let planSynced = try #require(trace.first(syncs, on: wal, after: planned))
            let body = try #require(trace.first(["sendto"], on: "<socket:", holding: #"filename=\""# + name))
            let head = try #require(trace.head(of: body))
            #expect(planSynced.end < head.begin, "the intent of \(name) is durable before anything is sent")

            let rescued = try #require(trace.first(writes, on: "/rescue-", holding: token))
            let rescueSynced = try #require(trace.first(syncs, on: "/rescue-", after: rescued))
            let committed = try #require(trace.first(writes, on: wal, holding: token))
            #expect(rescueSynced.end < committed.begin, "the response of \(name) is safe before it is parsed")
            let commitSynced = try #require(trace.first(syncs, on: wal, after: committed))
            let printed = try #require(trace.first(["write"], on: "(1<", holding: name))
            #expect(commitSynced.end < printed.begin, "the token of \(name) is durable before success is printed")
        }
        let commits = trace.calls.count { $0.name == "fdatasync" && $0.text.contains(wal) }
        #expect(commits < 2 * Self.count, "intents and tokens are committed in groups")
        let ends = ["= 0", "= 0 (DELAYED)"]
        #expect(
            trace.calls.allSatisfy { call in
                !syncs.contains(call.name) || ends.contains { call.text.hasSuffix($0) }
            }
        )
    }

    // MARK: Kills

    /// The process is killed in the middle of the batch. Afterwards each file is on the server once, and each token is
    /// stored here, or its loss is reported.
    @Test(
        arguments: [
            "afterIntent", "midBody", "afterBody", "responseInRescueFile", "beforeTokenCommit", "afterTokenCommit",
        ],
        [2, 11]
    )
    func aKilledBatchLosesNothing(_ point: String, _ passes: Int) async throws {
        let sandbox = try await SandboxProcess.start()
        var bench = try Bench(sandbox.baseURL)
        bench.runner.environment["MEDIACTL_SETTLE_TIMEOUT"] = "0.2"
        let command = ["upload", "-j", "8", "--json"] + (try movies(bench)) + bench.login
        let killed = try await bench.runner.run(
            command,
            extra: ["MEDIACTL_KILL_AT": point, "MEDIACTL_KILL_AFTER": String(passes)]
        )
        #expect(killed.signal == SIGKILL)
        let printed = killed.items.filter { $0["state"] as? String == "done" }.compactMap { $0["file_id"] as? Int }
        try await sandbox.waitForRequests { requests in requests.allSatisfy { $0.isOver } }
        let storedThen = try await sandbox.objects().values.flatMap(\.self)
        #expect(Set(printed).isSubset(of: storedThen))

        // Without contacting the server: every file that was printed has its token, and so has every response that was
        // on the disk.
        let listed = try await bench.listedIDs()
        #expect(Set(printed).isSubset(of: listed))
        let left = try bench.journal()
        #expect(left.allSatisfy { $0.state == .done || $0.state == .sending })

        let again = try await bench.runner.run(command)
        #expect([0, 3, 11].contains(again.exitCode), "\(again.errors)")
        #expect(again.states.count == Self.count)
        #expect(Set(again.states).isSubset(of: ["done", "duplicate", "token_lost"]), "\(again.states)")
        let objects = try await sandbox.objects()
        #expect(objects.count == Self.count)
        #expect(objects.values.allSatisfy { $0.count == 1 })
        let tokens = try bench.tokens()
        let lost = try bench.journal().filter { $0.state == .tokenLost }.compactMap(\.checksumSHA256)
        #expect(Set(tokens.map(\.checksumSHA256)).union(lost) == Set(objects.keys))
        #expect(lost.count <= 8, "only responses that were not read are lost")
        #expect(try bench.journal().allSatisfy { [.done, .failed, .tokenLost].contains($0.state) })
        #expect(bench.leftovers().isEmpty)

        let ids = tokens.map { "\($0.fileID)" }
        let deletion = try await bench.runner.run(["uploads", "delete", "--yes", "--json"] + ids + bench.login)
        #expect(deletion.exitCode == 0, "\(deletion.errors)")
        #expect(try await sandbox.objects().count == lost.count)
    }

    // MARK: Failing system calls

    /// The n-th `send` of each thread fails, including the one that wakes the thread of all transfers, which would
    /// otherwise sleep for a minute.
    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement), arguments: 1...4)
    func aRefusedSendDelaysNothing(_ number: Int) async throws {
        let sandbox = try await SandboxProcess.start()
        var bench = try Bench(sandbox.baseURL)
        // A body that was handed to libcurl counts as sent.
        bench.runner.environment["MEDIACTL_SETTLE_TIMEOUT"] = "0.2"
        let strace = SystemCallTrace.wrapper(writing: bench.runner.home.file("trace"), calls: "sendto")
        let result = try await bench.runner.run(
            ["upload", "-j", "8", "--json"] + (try movies(bench)) + bench.login,
            through: strace.prefix(1) + ["-e", "inject=sendto:error=ENOBUFS:when=\(number)"] + strace.dropFirst(),
            deadline: .seconds(50)
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        let objects = try await sandbox.objects()
        #expect(objects.count == Self.count && objects.values.allSatisfy { $0.count == 1 })
        #expect(try bench.tokens().count == Self.count)
    }

    // MARK: Signals

    /// Every stored file gets its token, and no row is left unfinished.
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func aStoppedBatchHasATokenForEachStoredFile(_ signal: Int32, _ exitCode: Int32) async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:delay-response=0.1"])
        let bench = try Bench(sandbox.baseURL)
        let command = ["upload", "-j", "8", "--json"] + (try movies(bench, 60)) + bench.login
        let child = try bench.runner.start(command)
        for _ in 0..<4 { try await child.wait(for: #""state":"done""#) }
        child.signal(signal)
        let result = try await child.finish()
        #expect(result.exitCode == exitCode)
        let objects = try await sandbox.objects()
        #expect(objects.count < 60)
        #expect(try bench.tokens().map(\.checksumSHA256).sorted() == objects.keys.sorted())
        #expect(try bench.journal().allSatisfy { [.done, .cancelled].contains($0.state) })
        #expect(bench.leftovers().isEmpty)
        try await sandbox.clearFaults()
        let again = try await bench.runner.run(command)
        #expect(again.exitCode == 0, "\(again.errors)")
        let all = try await sandbox.objects()
        #expect(all.count == 60 && all.values.allSatisfy { $0.count == 1 })
        #expect(try bench.tokens().count == 60)
    }
}

extension SystemCallTrace {
    /// The call that sent the header of a request before its body.
    fileprivate func head(of body: Call) -> Call? {
        calls.last { call in
            call.end <= body.begin && call.name == body.name && call.descriptor == body.descriptor
                && call.text.contains("POST /api/uploads")
        }
    }
}

extension SystemCallTrace.Call {
    /// The first argument.
    fileprivate var descriptor: Substring { text.prefix { $0 != "," } }
}
