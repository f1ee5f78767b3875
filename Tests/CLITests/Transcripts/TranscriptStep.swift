import Foundation
import TestSupport
import Testing

/// One command of a session: a line of a file in `fixtures/sessions`.
///
///     PURPOSE [NAME=VALUE ...] COMMAND [? PROMPT [y/N] INPUT]
///
/// Each purpose has a keyword: `ok`, `table` (a success whose lines must fit the terminal), `asked` (a success that
/// needs --yes without a terminal), `no`, `look`, `prepare`, `keep` and `remove`.
struct TranscriptStep: Sendable {
    enum Purpose: Sendable {
        /// The step succeeds. Shown on the pipe and on every terminal.
        case success
        /// The step is rejected, or fails.
        case refusal
        /// The step is a dry run, or writes records. It is run only on the pipe, and must not change anything.
        case look
        /// The step prepares the following steps, and is not shown.
        case preparation
        /// The step deletes the photo with this name on the photo server. It is not a command.
        case removal
    }

    var purpose: Purpose
    /// As typed, with `{name}` for a value that an earlier step has kept.
    var line: String
    /// On a terminal: the prompt, and the input.
    var response: (question: String, response: String)?
    /// Required without a terminal; omitted on a terminal, where the prompt is confirmed.
    var consent = ""
    /// Environment variables of this step.
    var environment: [String: String] = [:]
    /// Keeps the value of a key of the first JSON record that has it.
    var kept: (name: String, key: String)?
    /// Whether each line must fit the terminal: true for tables, false for values that are copied as a whole.
    var isTable = false
    /// Whether it may take long enough to print a status line.
    var isLong: Bool {
        [
            "upload ", "uploads resume ", "sync two-way ", "sync pull", "sync push ", "sync download ", "sync verify",
            "sync repair", "hash-only send ", "tapes add ", "tapes insert ",
        ].contains(where: line.hasPrefix)
    }

    private static let purposes: [Substring: Purpose] = [
        "ok": .success, "table": .success, "asked": .success, "no": .refusal, "look": .look, "prepare": .preparation,
        "keep": .preparation, "remove": .removal,
    ]

    init(_ text: String) throws {
        let pattern = /(\w+) ((?:\w+=\S+ )*)(.*?)(?: \? (.+ \[y\/N\] )(\w+))?/
        let (_, word, values, line, question, input) = try #require(text.wholeMatch(of: pattern), "\(text)").output
        purpose = try #require(Self.purposes[word], "\(text)")
        self.line = String(line)
        if let question, let input { response = (String(question), "\(input)\n") }
        if word == "asked" { consent = " --yes" }
        isTable = word == "table"
        for value in values.split(separator: " ") {
            let parts = value.split(separator: "=").map(String.init)
            if word == "keep" { kept = (parts[0], parts[1]) } else { environment[parts[0]] = parts[1] }
        }
    }

    /// The steps of all sessions in the order of their files, which build on each other.
    static func all() throws -> [TranscriptStep] {
        let directory = Repository.path("fixtures/sessions")
        return try FileManager.default.contentsOfDirectory(atPath: directory).sorted().flatMap { name in
            try String(contentsOfFile: directory + "/" + name, encoding: .utf8).split(separator: "\n")
                .map { try TranscriptStep(String($0)) }
        }
    }
}
