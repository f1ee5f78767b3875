import Foundation
import MediaStore
import TestSupport
import Testing

/// A process that is killed during a commit can leave a token that others can read but that is not on the disk yet.
/// Its response must not be removed before the token is synced.
@Suite(.prompt) struct ResponseReleaseTests {
    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement))
    func aResponseIsRemovedWhenItsTokenIsSynced() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try Bench(sandbox.baseURL)
        let upload = try await bench.runner.run(
            ["upload", try bench.movie(5000)] + bench.login,
            extra: ["MEDIACTL_KILL_AT": "afterTokenCommit"]
        )
        #expect(upload.signal == SIGKILL)
        let path = bench.runner.home.file("trace")
        let list = try await bench.runner.run(
            ["uploads", "list"],
            through: SystemCallTrace.wrapper(writing: path, calls: "fsync,unlink,unlinkat,ftruncate")
        )
        #expect(list.exitCode == 0)
        let trace = try SystemCallTrace(contentsOf: path)
        // SQLite itself syncs with fdatasync.
        let synchronized = try #require(trace.first(["fsync"], on: "tokens.sqlite-wal"))
        let removed = try #require(trace.first(["unlink", "unlinkat"], on: "/rescue-"))
        #expect(synchronized.end < removed.begin)
        #expect(bench.leftovers().allSatisfy { $0.hasPrefix("locks/") })
    }
}
