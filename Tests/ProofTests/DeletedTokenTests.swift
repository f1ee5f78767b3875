import Foundation
import TestSupport
import Testing

/// No file of the program, including backups, still contains a deleted token.
@Suite struct DeletedTokenTests {
    @Test(arguments: [["uploads", "delete"], ["media", "delete"]])
    func deletedAndClearedTokensAreInNoFile(_ command: [String]) async throws {
        let sandbox = try await SandboxProcess.start()
        var bench = try Bench(sandbox.baseURL)
        for seed in 0..<6 {
            let file = try bench.movie(5000, seed: seed, name: "clip\(seed).mp4")
            #expect(try await bench.runner.run(["upload", file] + bench.login).exitCode == 0)
        }
        let backup = try await bench.runner.run(["store", "backup", "--json"])
        let path = try #require(backup.records.first?["path"] as? String)
        // The names of backups have a resolution of one second; the first one gets an earlier name instead of a wait.
        let earlier = (path as NSString).deletingLastPathComponent + "/tokens-20260101T000000Z.sqlite"
        try FileManager.default.moveItem(atPath: path, toPath: earlier)
        #expect(try await bench.runner.run(["store", "backup"]).exitCode == 0)
        let listed = try await bench.runner.run(["uploads", "list", "--show-token", "--json"]).items
        let tokens = Dictionary(
            uniqueKeysWithValues: listed.compactMap { item in
                (item["file_id"] as? Int).flatMap { id in (item["delete_token"] as? String).map { (id, $0) } }
            }
        )
        #expect(tokens.count == 6)
        for token in tokens.values {
            #expect(bench.files(containing: token).count { $0.contains("/backups/") } == 2)
        }
        let login = command[0] == "media" ? ["--server", bench.server, "--user", "admin"] : bench.login
        if command[0] == "media" { bench.runner.environment["MEDIACTL_PASSWORD"] = "admin" }
        let result = try await bench.runner.run(command + ["1", "2", "3", "4", "--yes"] + login)
        #expect(result.exitCode == 0, "\(result.errors)")
        for (id, token) in tokens {
            #expect(bench.files(containing: token).isEmpty == (id <= 4), "\(id)")
            #expect(id <= 4 || bench.files(containing: token).count { $0.contains("/backups/") } == 2)
        }
        #expect(bench.leftovers().allSatisfy { !$0.contains("removals-") })
        #expect(try await bench.runner.run(["uploads", "clear", "--all", "--yes"]).exitCode == 0)
        for token in tokens.values {
            #expect(bench.files(containing: token).isEmpty)
        }
    }

    /// Changing the backups is the slow part: a command does it once, however many tokens it deletes.
    @Test(.enabled(if: SystemCallTrace.isAvailable, SystemCallTrace.requirement))
    func aCommandChangesTheBackupsOnce() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try Bench(sandbox.baseURL)
        for seed in 0..<4 {
            let file = try bench.movie(5000, seed: seed, name: "clip\(seed).mp4")
            #expect(try await bench.runner.run(["upload", file] + bench.login).exitCode == 0)
        }
        #expect(try await bench.runner.run(["store", "backup"]).exitCode == 0)
        var counts: [Int] = []
        for ids in [["1"], ["2", "3", "4"]] {
            let path = bench.runner.home.file("trace\(ids.count)")
            let result = try await bench.runner.run(
                ["uploads", "delete", "--yes"] + ids + bench.login,
                through: SystemCallTrace.wrapper(writing: path, calls: "openat")
            )
            #expect(result.exitCode == 0, "\(result.errors)")
            let opened = try SystemCallTrace(contentsOf: path).calls.filter {
                $0.text.contains("/backups/tokens-") && $0.text.contains(".sqlite\"") && $0.text.contains("O_RDWR")
            }
            counts.append(opened.count)
        }
        #expect(counts[0] > 0)
        #expect(counts[0] == counts[1])
    }
}
