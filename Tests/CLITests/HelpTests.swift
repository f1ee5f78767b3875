import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// The help texts, character for character. `MEDIACTL_RECORD=1` rewrites them.
@Suite struct HelpTests {
    static let golden = Repository.path("fixtures/golden/help")

    /// The words of every command, and the topics of `help`.
    private static let commands =
        words(of: MediactlCommand.self, []) + [
            ["help", "connection"], ["help", "exit-codes"],
        ]

    private static func words(of command: any ParsableCommand.Type, _ words: [String]) -> [[String]] {
        [words] + command.configuration.subcommands.flatMap { Self.words(of: $0, words + [$0._commandName]) }
    }

    @Test(arguments: commands)
    func helpIsAsRecorded(command: [String]) async throws {
        let isTopic = command.first == "help"
        let result = try await BinaryRunner().run(isTopic ? command : ["help"] + command)
        try expect(result, inFileOf: command, below: Self.golden)
    }

    /// Compares an output with the recorded one of a command.
    private func expect(_ result: ChildResult, inFileOf command: [String], below directory: String) throws {
        #expect(result.exitCode == 0 && result.errors.isEmpty)
        let path = directory + "/" + (["mediactl"] + command).joined(separator: "-") + ".txt"
        if ProcessInfo.processInfo.environment["MEDIACTL_RECORD"] == "1" {
            try makeDirectory(directory)
            try result.output.write(toFile: path, atomically: true, encoding: .utf8)
        }
        #expect(result.output == (try String(contentsOfFile: path, encoding: .utf8)))
    }

    @Test func nothingElseIsRecorded() throws {
        let names = Self.commands.map { (["mediactl"] + $0).joined(separator: "-") + ".txt" }
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: Self.golden)) == Set(names))
    }

    /// Every command that has options, except the groups.
    @Test(arguments: commands.filter { !$0.isEmpty && $0.first != "help" })
    func shortHelpHasTheImportantOptions(command: [String]) async throws {
        let all = try await BinaryRunner().run(command + ["--help"]).output.split(separator: "\n")
        let short = try await BinaryRunner().run(command + ["-h"]).output.split(separator: "\n")
        if all.contains("SUBCOMMANDS:"), short == all { return }
        let options = short.compactMap { MistypedLine.option(inHelp: $0) }
        #expect((1...16).contains(options.count), "\(options)")
        #expect(options.contains("--json"))
        if let everyday = HelpText.everyday[command.joined(separator: " ")] {
            #expect(Set(options) == everyday)
        }
        let hints = short.filter { !all.contains($0) }
        let path = command.joined(separator: " ")
        #expect(hints.first == "All options: mediactl \(path) --help")
        #expect(hints.dropFirst().allSatisfy { $0 == "Connection options: mediactl help connection" })
    }

    @Test(arguments: [["upload"], ["sync", "push"], ["hash-only", "send"]])
    func shortHelpIsAsRecorded(command: [String]) async throws {
        let result = try await BinaryRunner().run(command + ["-h"])
        try expect(result, inFileOf: command, below: Self.golden.replacing("/help", with: "/short-help"))
    }

    /// Text in place of JSON would break a program that reads it.
    @Test(arguments: [["help", "--json"], ["help", "sync", "--json"], ["help", "connection", "--json"]])
    func helpTextsHaveNoJSON(arguments: [String]) async throws {
        let result = try await BinaryRunner().run(arguments)
        #expect(result.exitCode == 2 && result.errors.contains("--json is only for: mediactl help exit-codes"))
        #expect(result.lines.count == 1)
    }

    @Test(arguments: [["--help"], ["upload", "-h"], [], ["--version"], ["help", "uploads", "list"], ["uploads"]])
    func requestingHelpIsASuccess(arguments: [String]) async throws {
        let result = try await BinaryRunner().run(arguments)
        #expect(result.exitCode == 0)
        #expect(!result.output.isEmpty && result.errors.isEmpty)
    }

    // ArgumentParser 1.8 traps on a help width below 27 columns.
    @Test(arguments: ["0", "10", "26", "-5", "x"])
    func narrowTerminalsGetHelpAsWell(columns: String) async throws {
        let result = try await BinaryRunner().run(["upload", "--help"], extra: ["COLUMNS": columns])
        #expect(result.exitCode == 0 && result.output.contains("--event-date"))
    }

    @Test func narrowWindowsGetHelpAsWell() async throws {
        let result = try await BinaryRunner().run(["upload", "--help"], streams: .terminal(columns: 20))
        #expect(result.exitCode == 0 && result.output.contains("--event-date"))
    }

    // Scripts read the first line. pkg-config reports the version of each library as well; on a system without
    // manual installs it is the version in use.
    @Test func versionListsTheLibrariesInUse() async throws {
        let lines = try await BinaryRunner().run(["--version"]).output.split(separator: "\n").map(String.init)
        #expect(lines.first == "mediactl 0.2.0-dev")
        var modules = ["libcurl": "libcurl", "OpenSSL": "libcrypto", "SQLite": "sqlite3", "zlib": "zlib"]
        #if ImageLibraries
            modules["libpng"] = "libpng"
        #endif
        var versions: [String: String] = [:]
        for line in lines.dropFirst() {
            let words = line.split(separator: " ").map(String.init)
            versions[words[0]] = words[1]
        }
        var expected: [String: String] = [:]
        for (name, module) in modules {
            expected[name] = try await ChildProcess.run("pkg-config", ["--modversion", module]).output
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
        #expect(versions == expected)
        let openSSL = try #require(expected["OpenSSL"])
        #expect(lines.contains { $0.hasPrefix("libcurl ") && $0.hasSuffix(" (OpenSSL/\(openSSL))") })
    }

    @Test(arguments: [["uploads", "list", "--version"], ["--version", "--json"], ["--quiet", "--version"]])
    func versionIsTheSameEverywhere(arguments: [String]) async throws {
        let runner = try BinaryRunner()
        #expect(try await runner.run(arguments).output == runner.run(["--version"]).output)
    }

    /// A line of more than 80 columns would be wrapped, and would be a different command when copied.
    @Test(arguments: commands.filter { $0.first != "help" })
    func examplesSurviveCopying(command: [String]) throws {
        let type = try #require(MediactlCommand.type(of: command))
        let help = MediactlCommand.helpMessage(for: type, columns: 80).split(separator: "\n")
        let lines = Self.exampleLines(of: type)
        #expect(!lines.isEmpty, "every command has an example")
        for line in lines {
            #expect(help.contains(line[...]), "\(line)")
            #expect(line.count <= 80, "\(line)")
        }
    }

    @Test(arguments: commands.filter { $0.first != "help" })
    func examplesParse(command: [String]) throws {
        let lines = Self.exampleLines(of: try #require(MediactlCommand.type(of: command))).map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        // A line that ends with | or \ continues on the next one.
        let whole = lines.joined(separator: "\n").replacing("\\\n", with: " ").replacing("|\n", with: "| ")
        var count = 0
        for line in whole.split(separator: "\n") {
            for words in ShellWords.commands(in: String(line)) where words.first == "mediactl" {
                #expect(throws: Never.self, "\(line)") { try MediactlCommand.parseAsRoot(Array(words.dropFirst())) }
                count += 1
            }
        }
        #expect(count > 0)
    }

    /// The lines below `Example:` or `Examples:`, up to the next empty one.
    private static func exampleLines(of command: any ParsableCommand.Type) -> [String] {
        let lines = command.configuration.discussion.split(separator: "\n", omittingEmptySubsequences: false)
        guard let heading = lines.firstIndex(where: { $0 == "Example:" || $0 == "Examples:" }) else { return [] }
        return lines[(heading + 1)...].prefix { !$0.isEmpty }.map(String.init)
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func completionScriptsIncludeTheCommands(shell: String) async throws {
        let result = try await BinaryRunner().run(["--generate-completion-script", shell])
        #expect(result.exitCode == 0)
        for word in ["upload", "uploads", "delete", "event-date"] {
            #expect(result.output.contains(word))
        }
    }
}

extension MediactlCommand {
    /// The command with these words.
    static func type(of words: [String]) -> (any ParsableCommand.Type)? {
        words.reduce(MediactlCommand.self as (any ParsableCommand.Type)?) { type, word in
            type?.configuration.subcommands.first { $0._commandName == word }
        }
    }
}
