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
        let path = runner.home.file("clip.mp4")
        try Data("abc".utf8).write(to: URL(fileURLWithPath: path))
        return try runner.start(
            ["upload", path, "--server", sandbox.baseURL] + arguments,
            streams: .terminal(columns: 200)
        )
    }

    @Test func aMissingUserIsPromptedFor() async throws {
        let child = try upload()
        try await child.wait(for: "User name for \(sandbox.baseURL): ")
        child.write("uploader\n")
        try await child.wait(for: "Password for uploader at \(sandbox.baseURL): ")
        child.write("uploader\n")
        #expect(try await child.finish().exitCode == 0)
    }

    @Test func aRejectedLoginIsPromptedForAgain() async throws {
        let child = try upload(["--user", "uploader"])
        for (number, password) in ["wrong", "wronger", "uploader"].enumerated() {
            try await waitForQuestion(number + 1, child)
            child.write("\(password)\n")
        }
        let result = try await child.finish()
        #expect(result.exitCode == 0)
        #expect(result.output.components(separatedBy: "login failed (401)").count == 3)
    }

    /// No byte of the file is sent before the login is accepted.
    @Test func threeRejectedLoginsEndTheCommand() async throws {
        let child = try upload(["--user", "uploader"])
        for number in 1...3 {
            try await waitForQuestion(number, child)
            child.write("wrong\n")
        }
        let result = try await child.finish()
        #expect(result.exitCode == 4 && result.output.contains("login failed (401) 3 times"))
        let requests = try await sandbox.requests()
        #expect(requests.allSatisfy { $0.method == "GET" } && requests.count { $0.status == 401 } == 3)
    }

    @Test(arguments: ["User name", "Password"]) func interruptingIsNotAnError(question: String) async throws {
        let child = try upload(question == "Password" ? ["--user", "uploader"] : [])
        try await child.wait(for: "\(question) for ")
        child.signal(SIGINT)
        let result = try await child.finish()
        #expect(result.exitCode == 130 && !result.output.contains("error"), "\(result.output)")
    }

    @Test func nothingIsPromptedForWithNoInput() async throws {
        let result = try await upload(["--no-input", "--user", "uploader"]).finish()
        #expect(result.exitCode == 4 && !result.output.contains("Password for"))
        #expect(try await sandbox.requests().isEmpty)
    }

    /// Errors of the store do not require a login.
    @Test func theStoreIsReadBeforeAnyPrompt() async throws {
        let child = try runner.start(
            ["uploads", "delete", "4711", "--server", sandbox.baseURL, "--user", "uploader"],
            streams: .terminal(columns: 200)
        )
        let result = try await child.finish()
        #expect(result.exitCode == 11 && !result.output.contains("Password for"), "\(result.output)")
    }

    @Test func anUnreachableServerIsReportedBeforeAnyPrompt() async throws {
        let child = try runner.start(
            ["smoke", "--server", "http://127.0.0.1:9", "--user", "uploader"],
            streams: .terminal(columns: 200)
        )
        let result = try await child.finish()
        #expect(result.exitCode == 6 && !result.output.contains("Password for"), "\(result.output)")
    }

    /// Errors detected on this machine do not require a login, and nothing is sent.
    @Test(arguments: [["nosuch.mp4"], ["clip.mp4", "--event-type", "gala"]])
    func localErrorsComeBeforeThePrompt(_ arguments: [String]) async throws {
        try Data("abc".utf8).write(to: URL(fileURLWithPath: runner.home.file("clip.mp4")))
        let path = [runner.home.file(arguments[0])] + arguments.dropFirst()
        let child = try runner.start(
            ["upload"] + path + ["--server", sandbox.baseURL, "--user", "uploader"],
            streams: .terminal(columns: 200)
        )
        let result = try await child.finish()
        #expect(result.exitCode == 2 && !result.output.contains("Password for"), "\(result.output)")
        #expect(try await sandbox.requests().isEmpty)
    }

    /// Waits for this number of password prompts.
    private func waitForQuestion(_ number: Int, _ child: ChildProcess) async throws {
        let suffix = number == 1 ? "" : " (attempt \(number) of 3)"
        try await child.wait(for: "Password for uploader at \(sandbox.baseURL)\(suffix): ")
    }
}
