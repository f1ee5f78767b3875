import Foundation
import TestSupport
import Testing

/// The built program without some of its standard streams, or with an output that accepts nothing.
@Suite(.prompt) struct StandardStreamTests {
    /// Runs the program with redirections of the shell.
    private func run(
        _ arguments: [String],
        _ redirections: String,
        _ runner: BinaryRunner
    ) async throws -> ChildResult {
        try await runner.run(
            arguments,
            through: ["sh", "-c", #"exec "$@" "# + redirections, "sh"]
        )
    }

    @Test(arguments: [">&-", "<&- >&-", ">/dev/full"], [[], ["--json"]])
    func nothingIsStartedThatCannotBeReported(redirections: String, more: [String]) async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try FaultFixture(sandbox.baseURL)
        let result = try await run(["upload", fixture.file] + more + fixture.login, redirections, fixture.runner)
        let reason = redirections == ">/dev/full" ? "no space left on device" : "it is closed"
        #expect(result.exitCode == 1)
        #expect(result.errors == "mediactl: error: cannot write to standard output: \(reason)\n")
        #expect(try await sandbox.posts() == 0)
    }

    @Test(arguments: [("2>&-", 1), ("<&-", 1), ("<&- 2>&-", 1), ("<&- >&- 2>&-", 0)])
    func missingStreamsAreNotReusedByOtherFiles(redirections: String, posts: Int) async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try FaultFixture(sandbox.baseURL)
        let result = try await run(["upload", fixture.file, "-v"] + fixture.login, redirections, fixture.runner)
        #expect(result.exitCode == (posts == 1 ? 0 : 1))
        #expect(try await sandbox.posts() == posts)
        #expect(try sandbox.storedFiles().count == posts)
    }

    @Test func closedInputIsNotAnEmptyFile() async throws {
        let fixture = try FaultFixture("http://127.0.0.1:9")
        let result = try await run(["upload", "-", "--stdin-name", "a.mp4"] + fixture.login, "<&-", fixture.runner)
        #expect(result.exitCode == 2)
        #expect(result.errors.contains("cannot read standard input"))
    }

    @Test(
        arguments: [
            ["--help"], ["--version"], ["help", "upload"], ["help", "exit-codes"], ["uploads", "list", "--json"],
        ]
    )
    func lostOutputIsAFailure(arguments: [String]) async throws {
        for (redirection, reason) in [(">/dev/full", "no space left on device"), (">&-", "it is closed")] {
            let result = try await run(arguments, redirection, try BinaryRunner())
            #expect(result.exitCode == 1)
            #expect(result.errors == "mediactl: error: cannot write to standard output: \(reason)\n")
        }
    }

    /// A full disk is noticed only with the first byte, which text output writes when the upload is complete.
    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func resultsAreRepeatedOnStandardError() async throws {
        let sandbox = try await SandboxProcess.start()
        let fixture = try FaultFixture(sandbox.baseURL)
        let disk = try SmallDisk(kibibytes: 512)
        try disk.fill()
        let full = ChildStreams.outputFile(disk.path + "/out")
        let upload = try await fixture.runner.run(["upload", fixture.file] + fixture.login, streams: full)
        #expect(upload.exitCode == 1)
        let lines = upload.errors.split(separator: "\n").map(String.init)
        #expect(lines.first == "uploaded \(fixture.file) as 1 (26.2 kB, checksum matches)")
        #expect(lines.contains("  to delete: mediactl uploads delete 1 --server \(sandbox.baseURL)"))
        #expect(lines.last == "mediactl: error: cannot write to standard output: no space left on device")

        let delete = ["uploads", "delete", "1", "--yes", "--user", "uploader"]
        let early = try await fixture.runner.run(delete + ["--json"], streams: full)
        #expect(early.exitCode == 1 && !early.errors.contains("deleted 1"))
        let deletion = try await fixture.runner.run(delete, streams: full)
        #expect(deletion.exitCode == 1)
        #expect(deletion.errors.hasPrefix("deleted 1 \"clip\" from "))
        #expect(deletion.errors.hasSuffix("cannot write to standard output: no space left on device\n"))
    }

    @Test func quitSignalExitsAtOnce() async throws {
        let silent = try SilentListener()
        let fixture = try FaultFixture("http://127.0.0.1:\(silent.port)")
        let child = try fixture.startUpload(["--connect-timeout", "600s"])
        try await child.signal(SIGQUIT, after: #""phase":"connecting""#)
        let result = try await child.finish()
        #expect(result.exitCode == 131)
        #expect(result.errors.hasSuffix("mediactl: error: terminated by SIGQUIT\n"))
        try JSONSchemaTests.expectExactShape(try #require(result.lines.last), schema: "upload")
    }

    /// Swift's runtime would print memory, and prompt on a terminal.
    @Test func crashPrintsNoMemory() async throws {
        let sandbox = try await SandboxProcess.start()
        var fixture = try FaultFixture(sandbox.baseURL)
        fixture.runner.environment["MEDIACTL_PASSWORD"] = nil
        let child = try fixture.runner.start(["upload", fixture.file] + fixture.login, streams: .terminal(columns: 80))
        try await child.signal(SIGSEGV, after: "Password for uploader at ")
        let result = try await child.finish()
        #expect(result.signal == SIGSEGV)
        #expect(!result.output.contains("rash"))
    }
}
