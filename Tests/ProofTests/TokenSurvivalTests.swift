import Foundation
import MediaStore
import TestSupport
import Testing

/// Whatever happens after the last byte was sent, the delete token is stored, or its loss is reported.
@Suite(.prompt) struct TokenSurvivalTests {
    /// A server that has read an upload and responds when the gate is opened.
    private struct Processing {
        let bodyRead = Gate()
        let mayRespond = Gate()
        let server: ProofServer

        init(before: @escaping @Sendable () throws -> Void = {}) throws {
            server = try ProofServer { [bodyRead, mayRespond] connection, request, _ in
                bodyRead.open()
                mayRespond.wait()
                try before()
                try connection.respond(201, request.file?.response ?? "{}")
            }
        }
    }

    /// The token is useful only if the server accepts it.
    private func expectDeletable(_ bench: Bench, _ sandbox: SandboxProcess) async throws {
        let delete = try await bench.runner.run(["uploads", "delete", "1", "--yes", "--json"] + bench.login)
        #expect(delete.exitCode == 0 && delete.states == ["deleted"])
        #expect(try await sandbox.requests().count { $0.method == "POST" && $0.path.contains("uploads") } == 1)
    }

    @Test(arguments: ["responseInRescueFile", "beforeTokenCommit", "afterTokenCommit"])
    func killAfterTheResponseWasRead(point: String) async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = try Bench(sandbox.baseURL)
        let upload = try await bench.runner.run(
            ["upload", try bench.movie(5000)] + bench.login,
            extra: ["MEDIACTL_KILL_AT": point]
        )
        #expect(upload.signal == SIGKILL)
        #expect(!upload.output.contains("uploaded"))
        #expect(try await bench.listedIDs() == [1])
        #expect(try bench.journal().map(\.state) == [.done])
        // The lock files of an exited process are empty and have no effect.
        #expect(bench.leftovers().allSatisfy { $0.hasPrefix("locks/") })
        try await expectDeletable(bench, sandbox)
    }

    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement)) func fullDiskAtTheCommit() async throws {
        let disk = try SmallDisk(kibibytes: 512)
        let processing = try Processing { try disk.fill() }
        processing.mayRespond.open()
        let bench = try Bench(processing.server.address)
        let place = ["--data-dir", disk.path + "/data"]
        let upload = try await bench.runner.run(["upload", try bench.file()] + place + bench.login)
        #expect(upload.exitCode == 12)
        #expect(!upload.output.contains("uploaded"))
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: disk.path + "/data").first { $0.hasPrefix("rescue-") }
        )
        #expect(upload.errors.contains(disk.path + "/data/" + name))
        #expect(!upload.errors.contains(KnownFile.abc.token), "logs are public")

        try disk.empty()
        let list = try await bench.runner.run(["uploads", "list", "--show-token", "--json"] + place)
        #expect(list.exitCode == 0)
        #expect(list.items.compactMap { $0["delete_token"] as? String } == [KnownFile.abc.token])
        #expect(list.errors.contains("stored the delete token of 18"))
        #expect(!FileManager.default.fileExists(atPath: disk.path + "/data/" + name))
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func signalWhileTheServerIsProcessing(signal: Int32, exitCode: Int32) async throws {
        let processing = try Processing()
        let bench = try Bench(processing.server.address)
        let child = try bench.runner.start(["upload", try bench.file(), "--json"] + bench.login)
        #expect(await processing.bodyRead.opened())
        child.signal(signal)
        try await child.wait(for: "for the delete token")
        processing.mayRespond.open()
        let result = try await child.finish()
        #expect(result.exitCode == exitCode)
        #expect(result.states == ["done"])
        #expect(try bench.tokens().map(\.token.secret) == [KnownFile.abc.token])
        #expect(processing.server.posts.count == 1)
    }

    /// Runs a program on a separate terminal, closes it while the server is processing, and returns the result. The
    /// kernel then sends SIGHUP, and every later write fails with EIO.
    private static let closingTerminal = [
        "/usr/bin/python3", "-u", "-c",
        """
        import os, pty, sys
        child, terminal = pty.fork()
        if child == 0: os.execv(sys.argv[1], sys.argv[1:])
        shown = b""
        while b"server is processing" not in shown: shown += os.read(terminal, 4096)
        os.close(terminal)
        print("closed")
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
    ]

    @Test func closedTerminal() async throws {
        let processing = try Processing()
        var bench = try Bench(processing.server.address)
        bench.runner.environment["TERM"] = "xterm"
        let child = try bench.runner.start(["upload", try bench.file()] + bench.login, through: Self.closingTerminal)
        try await child.wait(for: "closed")
        processing.mayRespond.open()
        #expect(try await child.finish().lines == ["closed", "129"])
        #expect(try bench.tokens().map(\.token.secret) == [KnownFile.abc.token])
        #expect(try bench.journal().map(\.state) == [.done])
    }

    @Test func errorAfterStoringIsFoundByAQuery() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["upload:500-after-store"])
        let bench = try Bench(sandbox.baseURL)
        let file = try bench.movie(5000)
        let text = try await bench.runner.run(["upload", file] + bench.login)
        #expect(text.exitCode == 11)
        #expect(!text.output.contains("uploaded"))
        #expect(text.errors.contains(" 1"), "the ID is printed: \(text.errors)")
        #expect(try bench.journal().map(\.state) == [.tokenLost])
        #expect(try bench.journal().map(\.fileID) == [1])
        #expect(try await bench.listedIDs().isEmpty)
        #expect(try await sandbox.requests().count { $0.method == "POST" } == 1)
    }

    /// How much of the response's token arrives before the connection breaks.
    enum Cut: CaseIterable {
        case insideTheToken, behindTheToken
    }

    @Test(arguments: Cut.allCases) func responseCutInItsJSON(_ cut: Cut) async throws {
        let response = KnownFile.abc.response
        let end = try #require(response.range(of: KnownFile.abc.token + "\"")?.upperBound)
        let sent = String(response[..<(cut == .insideTheToken ? response.index(end, offsetBy: -9) : end)])
        let server = try ProofServer { connection, _, _ in
            try connection.write(
                "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: \(response.utf8.count)\r\n\r\n"
                    + sent
            )
            connection.close()
        }
        let bench = try Bench(server.address)
        let result = try await bench.runner.run(["upload", try bench.file(), "--json"] + bench.login)
        #expect(server.posts.count == 1)
        #expect(result.items.compactMap { $0["file_id"] as? Int } == [18])
        switch cut {
        case .insideTheToken:
            #expect(result.exitCode == 11 && result.states == ["token_lost"])
            #expect(try bench.tokens().isEmpty)
        case .behindTheToken:
            #expect(result.exitCode == 0 && result.states == ["done"])
            #expect(try bench.tokens().map(\.token.secret) == [KnownFile.abc.token])
        }
        #expect(bench.leftovers().isEmpty)
    }
}
