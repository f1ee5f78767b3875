import MediaStore
import TestSupport
import Testing

/// Sixteen instances of the built program in one data directory.
@Suite struct ManyProcessesTests {
    @Test func concurrentUploadsListsDeletionsAndClearsLoseNothing() async throws {
        let sandbox = try await SandboxProcess.start()
        let other = try await SandboxProcess.start()
        let bench = try Bench(sandbox.baseURL)
        let otherLogin = ["--server", other.baseURL, "--user", "uploader"]
        let otherHost = String(other.baseURL.dropFirst("http://".count))
        let runner = bench.runner

        // Entries that the deletions and the clears remove.
        let early = try (0..<4).map { try bench.movie(5000, seed: $0, name: "early-\($0).mp4") }
        #expect(try await runner.run(["upload", "-q"] + early + bench.login).exitCode == 0)
        #expect(try await runner.run(["upload", "-q", early[0], early[1]] + otherLogin).exitCode == 0)

        let late = try (0..<12).map { try bench.movie(5000, seed: 100 + $0, name: "late-\($0).mp4") }
        var commands = stride(from: 0, to: 12, by: 2).map { ["upload"] + late[$0..<$0 + 2] + bench.login }
        commands += (1...4).map { ["uploads", "delete", "\($0)", "--yes"] + bench.login }
        commands += Array(repeating: ["uploads", "clear", "--server", otherHost, "--yes"], count: 2)
        commands += Array(repeating: ["uploads", "list", "--all", "--json"], count: 4)
        #expect(commands.count == 16)
        let children = try commands.map { try runner.start($0) }
        for (child, command) in zip(children, commands) {
            let result = try await child.finish()
            #expect(result.exitCode == 0, "\(command): \(result.errors)")
        }

        let kept = try bench.tokens()
        #expect(kept.map(\.fileID).sorted() == Array(5...16))
        #expect(kept.allSatisfy { $0.host != otherHost })
        #expect(Set(kept.map(\.fileName)) == Set((0..<12).map { "late-\($0).mp4" }))
        #expect(bench.leftovers().isEmpty)
        // Each stored token is the one that the server issued for this ID.
        let ids = kept.map { "\($0.fileID)" }
        let deletion = try await runner.run(["uploads", "delete", "--yes", "--json"] + ids + bench.login)
        #expect(deletion.exitCode == 0)
        #expect(deletion.states == Array(repeating: "deleted", count: 12))
    }
}
