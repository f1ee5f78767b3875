import Foundation
import TestSupport
import Testing

/// Every option of 0.1.0 is accepted, or its change is listed here with a note for users.
@Suite struct OldOptionsTests {
    /// The replacement of an option of 0.1.0 that its command no longer lists.
    enum Change: Sendable {
        /// Still accepted under this command, as this option.
        case aliased(to: String, note: String)
        /// Refused; the note states the replacement.
        case removed(note: String)
    }

    /// Command and option of 0.1.0, as in `options.txt`, and the replacement. The note is the one in CHANGELOG.md.
    static let changes: [String: Change] = {
        let connection = [
            "--allow-http", "--answer-timeout=", "--cacert=", "--connect-timeout=", "--finish-timeout=", "--http2",
            "--insecure", "--limit-rate=", "--pinned-key=", "--retries=", "--settle-timeout=", "--stall-timeout=",
            "--user=",
        ]
        let local = ["uploads list", "uploads show", "uploads export", "uploads clear"].flatMap { command in
            connection.map { "\(command): \($0)" }
        }
        let rate = [
            "claim-legacy", "doctor", "hash-only register", "hash-only retry", "hash-only verify", "login",
            "sync download", "sync pull", "sync status", "sync verify", "uploads delete", "uploads discard",
            "uploads import", "uploads status", "tapes album link", "tapes delete", "tapes library init",
            "tapes library status", "tapes move", "tapes remove",
        ].map { "\($0): --limit-rate=" }
        // `tapes move` contacts no server: an album on a server has no order.
        let move = [
            "--allow-http", "--answer-timeout=", "--api-key-file=", "--api-key-stdin", "--cacert=",
            "--connect-timeout=", "--http2", "--insecure", "--pinned-key=", "--retries=", "--stall-timeout=",
        ].map { "tapes move: \($0)" }
        let note = "Options that a command does not use are refused"
        return Dictionary(uniqueKeysWithValues: (local + rate + move).map { ($0, Change.removed(note: note)) })
    }()

    @Test func everyOptionOf010IsAcceptedOrListed() async throws {
        let old = try Self.options(in: String(contentsOfFile: Guarded.fixtures + "/options.txt", encoding: .utf8))
        #expect(old.count == 1526)
        let dump = try await Guarded.runner().run(["--experimental-dump-help"])
        let new = try Self.options(inDump: Data(dump.output.utf8))
        for option in old.sorted() where !new.contains(option) {
            switch Self.changes[option] {
            case .aliased(let other, let note): #expect(new.contains(other) && !note.isEmpty, "\(option)")
            case .removed(let note): #expect(!note.isEmpty, "\(option)")
            case nil: Issue.record("\(option) of 0.1.0 is neither accepted nor listed as changed")
            }
        }
        for option in Self.changes.keys { #expect(old.contains(option) && !new.contains(option), "\(option)") }
    }

    /// `command: --option=` for each option; `=` marks those that take a value.
    private static func options(in text: String) throws -> Set<String> {
        Set(
            text.split(separator: "\n").filter { !$0.hasPrefix("#") }.flatMap { line in
                let halves = line.split(separator: ":", maxSplits: 1)
                return halves[1].split(separator: " ").map { "\(halves[0]): \($0)" }
            }
        )
    }

    private static func options(inDump data: Data) throws -> Set<String> {
        let dump = try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
        var options: Set<String> = []
        func visit(_ command: [String: Any], _ words: [String]) {
            for argument in command["arguments"] as? [[String: Any]] ?? [] {
                for name in argument["names"] as? [[String: String]] ?? [] {
                    let text = (name["kind"] == "long" ? "--" : "-") + (name["name"] ?? "")
                    let path = words.isEmpty ? "mediactl" : words.joined(separator: " ")
                    options.insert("\(path): \(text)\(argument["kind"] as? String == "option" ? "=" : "")")
                }
            }
            for below in command["subcommands"] as? [[String: Any]] ?? [] {
                visit(below, words + [below["commandName"] as? String ?? ""])
            }
        }
        visit(try #require(dump["command"] as? [String: Any]), [])
        return options
    }
}
