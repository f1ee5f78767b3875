import ArgumentParser
import Foundation
import TestSupport
import Testing

@testable import MediaCLI

/// Console sessions with every command: on a pipe, on terminals of three widths, and on limited ones.
///
/// `MEDIACTL_RECORD=1` rewrites them; read the diff line by line.
@Suite struct TranscriptTests {
    private static let golden = Repository.path("fixtures/golden/transcripts")

    /// The words of every command that performs an action. The others only show their help.
    private static let commands: [[String]] = leaves(of: MediactlCommand.self, [])

    private static func leaves(of command: any ParsableCommand.Type, _ words: [String]) -> [[String]] {
        let below = command.configuration.subcommands
        // `login` is a command, and has a subcommand.
        let isCommand = below.isEmpty || command is any ContextCommand.Type
        return (isCommand ? [words] : []) + below.flatMap { leaves(of: $0, words + [$0._commandName]) }
    }

    /// All worlds run in parallel, since they share nothing.
    static let sessions = Task {
        try await withThrowingTaskGroup(of: (TranscriptLook, [TranscriptEntry]).self) { group in
            for look in TranscriptLook.allCases {
                group.addTask { (look, try await TranscriptWorld(look).run()) }
            }
            return try await group.reduce(into: [TranscriptLook: [TranscriptEntry]]()) { $0[$1.0] = $1.1 }
        }
    }

    private static func entries(of command: [String]) async throws -> [TranscriptLook: [TranscriptEntry]] {
        try await sessions.value.mapValues { entries in
            entries.filter { entry in
                let words = ShellWords.commands(in: entry.step.line).first ?? []
                return words.starts(with: command)
                    && !commands.contains { $0.count > command.count && words.starts(with: $0) }
            }
        }
    }

    @Test(arguments: commands) func everyCommandIsShown(command: [String]) async throws {
        let sessions = try await Self.entries(of: command)
        let pipe = sessions[.pipe] ?? []
        #expect(pipe.contains { $0.step.purpose == .success }, "a success")
        #expect(pipe.contains { $0.step.purpose == .refusal }, "a refusal")
        #expect(pipe.contains { $0.step.line.contains("--json") }, "records")
        let help = MediactlCommand.helpMessage(for: try #require(MediactlCommand.type(of: command)))
        if help.contains("--dry-run") {
            #expect(pipe.contains { $0.step.line.contains("--dry-run") }, "a dry run")
        }
        for look in TranscriptLook.allCases {
            for entry in sessions[look] ?? [] {
                // A step that is rejected has an exit code; all others succeed.
                #expect(
                    (entry.exitCode == 0) == (entry.step.purpose != .refusal),
                    "\(look) \(entry.line)\n\(entry.raw)"
                )
            }
        }
    }

    @Test(arguments: commands) func sessionsAreAsRecorded(command: [String]) async throws {
        let sessions = try await Self.entries(of: command)
        let path = Self.golden + "/" + (["mediactl"] + command).joined(separator: "-") + ".txt"
        let text = Self.text(of: sessions)
        if ProcessInfo.processInfo.environment["MEDIACTL_RECORD"] == "1" {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        let recorded = try String(contentsOfFile: path, encoding: .utf8)
        // On a slow machine ages are printed in minutes, which are wider: the words are compared, but not their
        // columns.
        let isSlow = sessions.values.contains { $0.contains { TranscriptNames.isSlow($0.raw) } }
        #expect(isSlow ? Self.squeezed(text) == Self.squeezed(recorded) : text == recorded)
    }

    @Test func nothingElseIsRecorded() throws {
        let names = Self.commands.map { (["mediactl"] + $0).joined(separator: "-") + ".txt" }
        #expect(Set(try FileManager.default.contentsOfDirectory(atPath: Self.golden)) == Set(names))
    }

    /// Characters that would break a script at the end of a pipe, an old terminal, or a log.
    @Test(arguments: TranscriptLook.allCases) func noStreamHasUnsupportedCharacters(look: TranscriptLook) async throws {
        for entry in try await Self.sessions.value[look] ?? [] {
            let comment = Comment(rawValue: "\(entry.line)\n\(entry.raw)")
            switch look {
            case .pipe:
                #expect(!entry.raw.contains("\u{1b}"), comment)
                #expect(!entry.raw.utf8.contains(UInt8(ascii: "\r")), comment)
            case .dumb: #expect(!entry.raw.contains("\u{1b}"), comment)
            // Progress is redrawn without color: NO_COLOR concerns only color (no-color.org).
            case .withoutColor: #expect(!entry.raw.contains(/\u{1b}\[[0-9;]*m/), comment)
            // Except for album names, which are the same in every locale.
            case .withoutUTF8: #expect(entry.raw.replacing("Tapes – ", with: "").utf8.allSatisfy { $0 < 0x80 }, comment)
            default: break
            }
        }
    }

    @Test(arguments: [TranscriptLook.narrow, .usual, .wide, .withoutColor, .dumb, .withoutUTF8])
    func tablesFitTheTerminal(look: TranscriptLook) async throws {
        let width = Int(look.columns ?? 0)
        let tables = try await Self.sessions.value[look]?.filter(\.step.isTable) ?? []
        #expect(tables.count > 5)
        for entry in tables {
            for line in entry.shown where !line.hasPrefix("mediactl: ") {
                #expect(line.count <= width, "\(entry.line)\n\(line)")
            }
        }
    }

    // MARK: Files

    private static func text(of sessions: [TranscriptLook: [TranscriptEntry]]) -> String {
        TranscriptLook.allCases.map { look in
            let entries = sessions[look] ?? []
            return (["=== " + look.title, ""] + entries.flatMap { lines(of: $0, look) }).joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private static func lines(of entry: TranscriptEntry, _ look: TranscriptLook) -> [String] {
        let colors = look == .usual && !entry.colors.isEmpty ? entry.colors.map { "[\($0)]" } : []
        return ["$ " + entry.line] + entry.shown + ["[\(entry.exitCode.map(String.init) ?? "killed")]"] + colors + [""]
    }

    private static func squeezed(_ text: String) -> String { text.replacing(#/ +/#, with: " ") }
}
