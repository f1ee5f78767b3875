import TestSupport
import Testing

/// Which parts of the rescue log are synced, and when, as seen by the kernel. Without these tests, only a power loss
/// would show a difference.
@Suite(.prompt) struct RescueSyncTests {
    private static let syncs: Set = ["fsync", "fdatasync"]
    private static let writes: Set = ["write", "pwrite64"]

    /// The trace of an upload.
    private func trace(_ bench: Bench, _ options: [String] = []) async throws -> SystemCallTrace {
        let path = bench.runner.home.file("trace")
        let result = try await bench.runner.run(
            ["upload", try bench.movie(5000)] + options + bench.login,
            through: SystemCallTrace.wrapper(writing: path, calls: "openat,write,pwrite64,fsync,fdatasync,sendto")
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        return try SystemCallTrace(contentsOf: path)
    }

    /// A synchronized response in a file without a name would be lost.
    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement))
    func theNameOfTheLogIsDurableBeforeAnythingIsSent() async throws {
        let sandbox = try await SandboxProcess.start()
        let trace = try await trace(try Bench(sandbox.baseURL))
        let created = try #require(trace.first(["openat"], on: "AT_FDCWD", holding: "/rescue-"))
        #expect(created.text.contains("O_CREAT"))
        let filled = try #require(trace.first(Self.syncs, on: "/rescue-", after: created))
        let named = try #require(trace.first(Self.syncs, on: "/mediactl>", after: filled))
        // SQLite may synchronize the directory too, but only after it has written an entry to the journal.
        let planned = try #require(trace.first(Self.writes, on: "tokens.sqlite-wal", holding: "clip.mp4"))
        #expect(named.end < planned.begin)
        let sent = try #require(trace.first(["sendto"], on: "<socket:", holding: "POST /api/uploads"))
        #expect(named.end < sent.begin)
    }

    /// After a power loss, the response to the first attempt must not be mistaken for the response to the second.
    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement))
    func anEarlierResponseIsErasedOnTheDiskBeforeTheFileIsSentAgain() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:status=503,times=1,retry-after=0"])
        let trace = try await trace(try Bench(sandbox.baseURL))
        let written = try #require(trace.first(Self.writes, on: "/rescue-", holding: "status 503"))
        let erased = try #require(trace.first(Self.writes, on: "/rescue-", holding: #""\0\0\0\0"#, after: written))
        let erasedOnDisk = try #require(trace.first(Self.syncs, on: "/rescue-", after: erased))
        let sentAgain = try #require(
            trace.first(["sendto"], on: "<socket:", holding: "POST /api/uploads", after: written)
        )
        #expect(erasedOnDisk.end < sentAgain.begin)
    }
}
