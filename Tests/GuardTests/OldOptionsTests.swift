import Foundation
import TestSupport
import Testing

/// Every option of 0.1.0 is accepted, or is refused as described in CHANGELOG.md.
@Suite struct OldOptionsTests {
    /// Options of 0.1.0 that are now refused, in the notation of `options.txt`, each with the text about it in
    /// CHANGELOG.md.
    static let removed: [String: String] = {
        let connection = [
            "--allow-http", "--answer-timeout=", "--cacert=", "--connect-timeout=", "--finish-timeout=", "--http2",
            "--insecure", "--limit-rate=", "--pinned-key=", "--retries=", "--settle-timeout=", "--stall-timeout=",
            "--user=",
        ]
        let local = ["uploads list", "uploads show", "uploads export", "uploads clear"]
        // A command that uploads nothing needs no rate.
        let uploadingNothing = [
            "claim-legacy", "doctor", "hash-only register", "hash-only retry", "hash-only verify", "login",
            "sync download", "sync pull", "sync status", "sync verify", "uploads delete", "uploads discard",
            "uploads import", "uploads status", "tapes album link", "tapes delete", "tapes library init",
            "tapes library status", "tapes move", "tapes remove",
        ]
        // `tapes move` contacts no server: an album on a server has no order.
        let ofAServer = [
            "--allow-http", "--answer-timeout=", "--api-key-file=", "--api-key-stdin", "--cacert=",
            "--connect-timeout=", "--http2", "--insecure", "--pinned-key=", "--retries=", "--stall-timeout=",
        ]
        let groups: [(commands: [String], options: [String], note: String)] = [
            (local, connection, "connection options of `uploads list`, `show`, `export`, `clear`"),
            (uploadingNothing, ["--limit-rate="], "`--limit-rate` and `--jobs` of commands that upload nothing"),
            (["tapes move"], ofAServer, "`tapes move`"),
        ]
        return groups.reduce(into: [:]) { removed, group in
            for command in group.commands {
                for option in group.options { removed["\(command): \(option)"] = group.note }
            }
        }
    }()

    @Test func everyOptionOf010IsAcceptedOrListed() async throws {
        let old = try Self.options(in: String(contentsOfFile: Guarded.fixtures + "/options.txt", encoding: .utf8))
        #expect(old.count == 1526)
        let dump = try await Guarded.runner().run(["--experimental-dump-help"])
        let new = try Self.options(inDump: Data(dump.output.utf8))
        #expect(old.subtracting(new).sorted() == Self.removed.keys.sorted())
    }

    @Test func theChangelogListsTheRemovedOptions() throws {
        let items = try Repository.text("CHANGELOG.md").components(separatedBy: "\n- ")
            .map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        let start = "Options that a command does not use are refused: "
        let item = try #require(items.first { $0.hasPrefix(start) })
        for note in Set(Self.removed.values) { #expect(item.contains(note), "\(note)") }
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
