import Foundation
import MediaCore
import MediaStore
import TestSupport
import Testing

@testable import MediaCLI

/// The built program and its streams, without a server.
@Suite(.prompt) struct BinaryTests {
    @Test(arguments: [
        (["upload", "--json"], "specify files to upload, or use --files-from, --manifest or --watch"),
        (["--json", "uplaod", "x"], "unknown command \"uplaod\""),
        (["uploads", "show", "x", "--json"], #"<id>: "x" is not a number"#),
    ])
    func wrongUsageIsOneRecordOnStandardOutput(arguments: [String], message: String) async throws {
        let result = try await BinaryRunner().run(arguments)
        #expect(result.exitCode == 2)
        #expect(result.lines.count == 1)
        try JSONSchemaTests.expectExactShape(result.lines[0], schema: "error")
        #expect(result.lines[0].contains(JSONValue.string(message).json()))
        #expect(result.errors.hasPrefix("mediactl: error: \(message)\nmediactl: hint: "))
    }

    @Test func aCommandThatIsKilledAtAFailpointRunsBesideTheTests() async throws {
        let other = ProcessInfo.processInfo.environment["MEDIACTL_BINARY"] ?? ""
        let runner = try BinaryRunner()
        let printPath = ["/bin/sh", "-c", "printf %s \"$0\""]
        let usual = try await runner.run([], through: printPath)
        #expect(usual.output == (other.isEmpty ? BuiltProgram.besideTests("mediactl") : other))
        let killed = try await runner.run([], extra: ["MEDIACTL_KILL_AT": "afterBody"], through: printPath)
        #expect(killed.output == BuiltProgram.besideTests("mediactl"))
    }

    @Test func jsonAsAFileNameIsNotTheOption() async throws {
        let result = try await BinaryRunner().run(["upload", "--bogus", "--", "--json"])
        #expect(result.exitCode == 2 && result.output.isEmpty)
    }

    @Test func noServerIsConfigured() async throws {
        let result = try await BinaryRunner().run(["upload", "/dev/null"])
        #expect(result.exitCode == 2)
        #expect(
            result.errors.contains("mediactl: error: no server configured\nmediactl: hint: set --server URL")
        )
    }

    @Test func emptyListIsReportedWithSuccess() async throws {
        let runner = try BinaryRunner()
        let text = try await runner.run(["uploads", "list"])
        #expect(text.exitCode == 0 && text.output.isEmpty)
        #expect(text.errors == "mediactl: note: no stored delete tokens\n")
        let json = try await runner.run(["uploads", "list", "--json", "-q"])
        #expect(json.output == #"{"schema":"mediactl.uploads-list/1","type":"summary","items":0,"exit_code":0}"# + "\n")
        #expect(json.errors.isEmpty)
    }

    @Test func unusableStoreIsExit12() async throws {
        let runner = try BinaryRunner()
        let file = runner.home.file("file")
        try "x".write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await runner.run(["uploads", "list", "--data-dir", file + "/below", "--json"])
        #expect(result.exitCode == 12)
        try JSONSchemaTests.expectExactShape(try #require(result.lines.last), schema: "uploads-list")
        #expect(result.errors.contains("mediactl: hint: "))
    }

    @Test func configShowPrintsEverySource() async throws {
        let result = try await BinaryRunner().run(
            ["config", "show", "--retries", "7", "--json"],
            extra: ["MEDIACTL_SERVER": "https://media.example.org"]
        )
        #expect(result.exitCode == 0)
        try result.expectShapes("config-show")
        #expect(result.output.contains(#""name":"retries","value":"7","source":""#))
        #expect(result.output.contains("MEDIACTL_SERVER"))
    }

    @Test func exitCodesAreRecordsToo() async throws {
        let result = try await BinaryRunner().run(["help", "exit-codes", "--json"])
        #expect(result.lines.count == ExitCode.allCases.count + 1)
        try result.expectShapes("help")
    }

    @Test(
        arguments: [
            (["delete", "18"], "Delete it?"), (["delete", "18", "19"], "Delete them?"),
            (["clear", "--all"], "Remove the tokens?"), (["delete", "18", "--no-input"], "Delete it?"),
        ] as [([String], String)]
    )
    func deletionRequiresYesWithoutATerminal(arguments: [String], question: String) async throws {
        let runner = try BinaryRunner()
        // IDs without a stored token are reported without a prompt.
        var tokens = ""
        for fileID in [Int64(18), 19] {
            var entry = JSONSchemaTests.entry
            (entry.host, entry.baseURL, entry.fileID) = ("127.0.0.1:9", "http://127.0.0.1:9", fileID)
            tokens += String(decoding: TokenExport.line(entry), as: UTF8.self) + "\n"
        }
        #expect(try await runner.run(["uploads", "import", "-"], input: tokens).exitCode == 0)
        let result = try await runner.run(
            ["uploads"] + arguments,
            input: "yes\n",
            extra: ["MEDIACTL_SERVER": "http://127.0.0.1:9"]
        )
        #expect(result.exitCode == 2)
        #expect(
            result.errors == """
                mediactl: error: not a terminal; confirmation required: \(question)
                mediactl: hint: confirm in advance with --yes

                """
        )
    }

    @Test func clearPromptsOnATerminal() async throws {
        let runner = try BinaryRunner()
        let no = try runner.start(["uploads", "clear", "--all"], streams: .terminal(columns: 80))
        try await no.respond(to: "Remove the tokens? [y/N] ", with: "\n")
        #expect(try await no.finish().exitCode == 1)
        let yes = try runner.start(["uploads", "clear", "--all"], streams: .terminal(columns: 80))
        try await yes.respond(to: "Remove the tokens? [y/N] ", with: "maybe\ny\n")
        let result = try await yes.finish()
        #expect(result.exitCode == 0)
        #expect(result.output.contains("removed 0 delete tokens for all servers"))
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 129)] as [(Int32, Int32)])
    func signalAtAPromptEndsTheProgramAtOnce(signal: Int32, exitCode: Int32) async throws {
        let child = try BinaryRunner().start(
            ["uploads", "clear", "--all", "--json"],
            streams: .terminal(columns: 80)
        )
        try await child.signal(signal, after: "Remove the tokens?")
        let result = try await child.finish()
        #expect(result.exitCode == exitCode)
        let last = try #require(result.lines.last).trimmingCharacters(in: .whitespacesAndNewlines)
        try JSONSchemaTests.expectExactShape(last, schema: "uploads-clear")
        #expect(last.contains(#""code":"interrupted""#))
    }

    @Test func closedOutputPrintsNoError() async throws {
        let result = try await BinaryRunner().run(["help", "exit-codes"], streams: .closedOutput)
        #expect(result.exitCode == 0 && result.errors.isEmpty)
    }
}
