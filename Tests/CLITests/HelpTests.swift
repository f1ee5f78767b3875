import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// The help texts, letter for letter. `MEDIACTL_RECORD=1` writes them anew.
@Suite struct HelpTests {
    static let golden = JSONSchemaTests.root.appendingPathComponent("fixtures/golden/help").path

    @Test(arguments: [
        [], ["upload"], ["uploads"], ["uploads", "list"], ["uploads", "show"], ["uploads", "delete"],
        ["uploads", "clear"], ["uploads", "status"], ["uploads", "export"], ["uploads", "import"], ["config"], ["config", "show"], ["help"], ["help", "exit-codes"],
    ])
    func helpIsAsRecorded(command: [String]) async throws {
        let isTopic = command.first == "help"
        let result = try await BinaryRunner().run(isTopic ? command : ["help"] + command)
        #expect(result.exitCode == 0 && result.errors.isEmpty)
        let path = Self.golden + "/" + (["mediactl"] + command).joined(separator: "-") + ".txt"
        if ProcessInfo.processInfo.environment["MEDIACTL_RECORD"] == "1" {
            try result.output.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(result.output == (try String(contentsOfFile: path, encoding: .utf8)))
    }

    @Test func everyCommandHasARecordedHelp() throws {
        func paths(_ command: any ParsableCommand.Type, _ path: [String]) -> [[String]] {
            [path] + command.configuration.subcommands.flatMap { paths($0, path + [$0._commandName]) }
        }
        let recorded = Set(try FileManager.default.contentsOfDirectory(atPath: Self.golden))
        for path in paths(MediactlCommand.self, ["mediactl"]) {
            #expect(recorded.contains(path.joined(separator: "-") + ".txt"), "\(path)")
        }
    }

    @Test(arguments: [["--help"], ["upload", "-h"], [], ["--version"], ["help", "uploads", "list"], ["uploads"]])
    func askingForHelpIsDone(arguments: [String]) async throws {
        let result = try await BinaryRunner().run(arguments)
        #expect(result.exitCode == 0)
        #expect(!result.output.isEmpty && result.errors.isEmpty)
    }

    // ArgumentParser 1.8 traps on a help width below 27 columns.
    @Test(arguments: ["0", "10", "26", "-5", "x"])
    func narrowTerminalsGetHelpToo(columns: String) async throws {
        let result = try await BinaryRunner().run(["upload", "--help"], extra: ["COLUMNS": columns])
        #expect(result.exitCode == 0 && result.output.contains("--event-date"))
    }

    @Test func narrowWindowsGetHelpToo() async throws {
        let result = try await BinaryRunner().start(["upload", "--help"], streams: .terminal(columns: 20)).finish()
        #expect(result.exitCode == 0 && result.output.contains("--event-date"))
    }

    @Test func versionIsOneLine() async throws {
        #expect(try await BinaryRunner().run(["--version"]).output == "mediactl 0.1.0\n")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionScriptsNameTheCommands(shell: String) async throws {
        let result = try await BinaryRunner().run(["--generate-completion-script", shell])
        #expect(result.exitCode == 0)
        for word in ["upload", "uploads", "delete", "event-date"] {
            #expect(result.output.contains(word))
        }
    }
}
