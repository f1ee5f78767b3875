import Foundation
import TestSupport
import Testing

/// A login entered on a terminal.
@Suite(.prompt, .timeLimit(.minutes(4))) struct LoginPromptTests {
    let sandbox: SandboxProcess
    let runner: BinaryRunner

    init() async throws {
        sandbox = try await SandboxProcess.start()
        runner = try BinaryRunner()
    }

    private func upload(_ arguments: [String] = []) throws -> ChildProcess {
        let path = try runner.home.write("clip.mp4", "abc".utf8)
        return try runner.start(
            ["upload", path, "--server", sandbox.baseURL] + arguments,
            streams: .terminal(columns: 200)
        )
    }

    @Test func aMissingUserIsPromptedFor() async throws {
        let child = try upload()
        try await child.respond(to: "User name for \(sandbox.baseURL): ", with: "uploader\n")
        try await child.respond(to: "Password for uploader at \(sandbox.baseURL): ", with: "uploader\n")
        #expect(try await child.finish().exitCode == 0)
    }

    @Test func aRejectedLoginIsPromptedForAgain() async throws {
        let child = try upload(["--user", "uploader"])
        for (number, password) in ["wrong", "wronger", "uploader"].enumerated() {
            try await waitForPrompt(number + 1, child)
            child.write("\(password)\n")
        }
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(result.output.components(separatedBy: "login failed (401)").count == 3)
        // The terminal does not show passwords.
        #expect(!result.output.contains("wronger") && !result.output.contains("uploader\r"), "\(result.output)")
    }

    /// No byte of the file is sent before the login is accepted.
    @Test func threeRejectedLoginsEndTheCommand() async throws {
        let child = try upload(["--user", "uploader"])
        for number in 1...3 {
            try await waitForPrompt(number, child)
            child.write("wrong\n")
        }
        let result = try await child.finish()
        #expect(result.exitCode == 4 && result.output.contains("login failed (401) 3 times"))
        let requests = try await sandbox.requests()
        #expect(requests.allSatisfy { $0.method == "GET" } && requests.count { $0.status == 401 } == 3)
    }

    @Test(arguments: ["User name", "Password"]) func interruptingIsNotAnError(prompt: String) async throws {
        let child = try upload(prompt == "Password" ? ["--user", "uploader"] : [])
        try await child.signal(SIGINT, after: "\(prompt) for ")
        let result = try await child.finish()
        #expect(result.exitCode == 130 && !result.output.contains("error"), "\(result.output)")
    }

    @Test func nothingIsPromptedForWithNoInput() async throws {
        let result = try await upload(["--no-input", "--user", "uploader"]).finish()
        #expect(result.exitCode == 4 && !result.output.contains("Password for"))
        #expect(try await sandbox.requests().isEmpty)
    }

    /// Errors in the store, the connection or the input are reported without a login prompt. Input errors send nothing.
    @Test(
        arguments: [
            (["uploads", "delete", "4711"], 11), (["smoke", "--server", "http://127.0.0.1:9"], 6),
            (["upload", "nosuch.mp4"], 2), (["upload", "clip.mp4", "--event-type", "gala"], 2),
            (["upload", "clip.mp4", "--report", "clip.mp4"], 2),
        ] as [([String], Int32)]
    )
    func errorsAreReportedBeforeAnyPrompt(_ arguments: [String], _ exitCode: Int32) async throws {
        try Data("abc".utf8).write(to: URL(fileURLWithPath: runner.home.file("clip.mp4")))
        let words = arguments.map { $0.hasSuffix(".mp4") ? runner.home.file($0) : $0 }
        let server = arguments.contains("--server") ? [] : ["--server", sandbox.baseURL]
        let child = try runner.start(words + server + ["--user", "uploader"], streams: .terminal(columns: 200))
        let result = try await child.finish()
        #expect(result.exitCode == exitCode && !result.output.contains("Password for"), "\(result.output)")
        if exitCode == 2 { #expect(try await sandbox.requests().isEmpty) }
    }

    /// Waits for this number of password prompts.
    private func waitForPrompt(_ number: Int, _ child: ChildProcess) async throws {
        let suffix = number == 1 ? "" : " (attempt \(number) of 3)"
        try await child.wait(for: "Password for uploader at \(sandbox.baseURL)\(suffix): ")
    }
}
