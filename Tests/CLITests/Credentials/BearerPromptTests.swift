import Foundation
import TestSupport
import Testing

/// Prompts where the server requires a login (gighive-d4 contract section 12, drafts).
@Suite(.prompt, .timeLimit(.minutes(4))) struct BearerPromptTests {
    let sandbox: SandboxProcess
    let runner: BinaryRunner

    init() async throws {
        sandbox = try await SandboxProcess.start(dialect: "d4", arguments: ["--auth", "bearer"])
        runner = try BinaryRunner()
    }

    private func start(_ arguments: [String]) throws -> ChildProcess {
        try runner.start(arguments + ["--server", sandbox.baseURL], streams: .terminal(columns: 200))
    }

    /// Runs the command in the hint. The server's responses show that it supports logins.
    @Test func addressAndPasswordArePromptedFor() async throws {
        let child = try start(["login"])
        try await child.respond(to: "Email address for \(sandbox.baseURL): ", with: "contributor@example.org\n")
        try await child.wait(for: "Password for contributor@example.org at \(sandbox.baseURL): ")
        child.write("contributor\n")
        let result = try await child.finish()
        #expect(result.exitCode == 0 && result.output.contains("logged in"), "\(result.output)")
        #expect(try await sandbox.requests().allSatisfy { !$0.credentials.contains("basic") })
    }

    /// A different password would not help: there is no second prompt.
    @Test func aPasswordIsPromptedForOnlyOnce() async throws {
        let child = try start(["media", "list", "--user", "uploader"])
        try await child.respond(to: "Password for uploader at \(sandbox.baseURL): ", with: "secret-word\n")
        let result = try await child.finish()
        #expect(result.exitCode == 4 && result.output.contains("requires a login"), "\(result.output)")
        #expect(!result.output.contains("attempt 2"))
        #expect(result.output.contains("hint: mediactl login --server \(sandbox.baseURL)"))
        #expect(try await sandbox.requests().count { $0.credentials.contains("basic") } == 1)
        // The next command does not prompt for a password either.
        let again = try await start(["media", "list", "--user", "uploader"]).finish()
        #expect(again.exitCode == 4 && !again.output.contains("Password for"))
    }
}
