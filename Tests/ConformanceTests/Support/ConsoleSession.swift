import Foundation

/// The `console` blocks of a document: commands after `$ `, each followed by its output.
struct ConsoleSession {
    struct Step {
        let command: String
        /// Expected lines, in order. `…` stands for any text inside a line, and alone on a line for any lines.
        var expectedLines: [String] = []
    }

    let steps: [Step]

    init(document: String) {
        var steps: [Step] = []
        var isInside = false
        for line in document.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isInside = !isInside && line == "```console"
            } else if isInside, line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if isInside, !steps.isEmpty {
                steps[steps.count - 1].expectedLines.append(line)
            }
        }
        self.steps = steps
    }

    /// A shell script that runs the steps in one shell. A line that consists of `mark` precedes each step's output.
    func script(mark: String) -> String {
        // `$?` must still be that of the previous step.
        let lines = steps.map { "status=$?; echo '\(mark)'; (exit $status)\n\($0.command)" }
        return "exec 2>&1\n" + lines.joined(separator: "\n") + "\nexit 0\n"
    }

    /// Whether output has the expected lines. Runs of spaces count as one: tables are as wide as their longest entry.
    /// Values that differ between runs count as equal if they have the same form. Progress lines, which only runs of
    /// more than a second print, are ignored.
    static func matches(_ output: String, _ expectedLines: [String]) -> Bool {
        let lines = output.split(separator: "\n", omittingEmptySubsequences: true).map { normalized(String($0)) }
            .filter { $0.wholeMatch(of: /[0-9]+ of [0-9]+ (files|photos) .* [0-9]+% .*/) == nil }
        return matches(lines[...], expectedLines.map(normalized).filter { !$0.isEmpty }[...])
    }

    private static func matches(_ lines: ArraySlice<String>, _ expected: ArraySlice<String>) -> Bool {
        guard let pattern = expected.first else { return lines.isEmpty }
        if pattern == "…" {
            return (lines.startIndex...lines.endIndex).contains { matches(lines[$0...], expected.dropFirst()) }
        }
        guard let line = lines.first, matches(line[...], pieces: pattern.components(separatedBy: "…")) else {
            return false
        }
        return matches(lines.dropFirst(), expected.dropFirst())
    }

    private static func matches(_ line: Substring, pieces: [String]) -> Bool {
        guard let first = pieces.first, let last = pieces.last, line.hasPrefix(first) else { return false }
        guard pieces.count > 1 else { return line == first }
        var rest = line.dropFirst(first.count)
        for piece in pieces.dropFirst().dropLast() where !piece.isEmpty {
            guard let found = rest.firstRange(of: piece) else { return false }
            rest = rest[found.upperBound...]
        }
        return rest.hasSuffix(last)
    }

    private static func normalized(_ line: String) -> String {
        let words = line.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
        return volatileForms.reduce(words) { text, form in
            text.replacingOccurrences(of: form.pattern, with: form.name, options: .regularExpression)
        }
    }

    /// Values that differ in each run: IDs, checksums, upload numbers, times, days, ages and sizes.
    private static let volatileForms: [(pattern: String, name: String)] = [
        ("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"), ("[0-9a-f]{64}", "<sha-256>"),
        ("u-[a-z2-7]{16}", "<upload>"),
        ("[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z", "<time>"), ("[0-9]{4}-[0-9]{2}-[0-9]{2}", "<day>"),
        ("just now|[0-9]+ (minute|hour|day|week|month|year)s? ago", "<age>"),
        ("[0-9.]+ ([kMGT]?B|bytes)\\b", "<size>"),
        ("\"(size_bytes|bytes_sent|duration_ms)\":[0-9]+", "\"$1\":<number>"),
    ]
}
