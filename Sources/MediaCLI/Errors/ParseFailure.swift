internal import ArgumentParser
internal import MediaFiles

/// What the parser threw: help and version among it, which are no failures.
struct ParseFailure {
    private let error: any Error
    private let arguments: [String]

    init(_ error: any Error, arguments: [String]) {
        self.error = error
        self.arguments = arguments
    }

    /// Prints it in the form asked for, and tells how the program ends.
    func report(in context: CommandContext) -> ExitCode {
        let text = MediactlCommand.fullMessage(for: error)
        guard MediactlCommand.exitCode(for: error) != .success else {
            context.output.write(text + "\n")
            return .success
        }
        let diagnosis = diagnosis
        // The flags may be what could not be parsed, so `--json` is looked for as a word.
        let preferences = OutputPreferences(isJSON: arguments.prefix { $0 != "--" }.contains("--json"))
        Console(context, schema: "mediactl.error/1", preferences: preferences).fail(diagnosis)
        return diagnosis.exitCode
    }

    var diagnosis: Diagnosis {
        if let (word, suggestion, parents) = misspelledCommand {
            let path = (["mediactl"] + parents).joined(separator: " ")
            return .usage(
                "unknown command \(ErrorCatalogue.quoted(word))",
                hint: suggestion.map { "did you mean: \(path) \($0)" } ?? "\(path) --help lists the commands"
            )
        }
        let words = (["mediactl"] + commandPath.names).joined(separator: " ")
        return .usage(message, hint: "see \(words) --help")
    }

    /// The parser's words in our style.
    private var message: String {
        let lines = MediactlCommand.message(for: error).split(separator: "\n").map { $0.drop { $0 == " " } }
        var text = lines.joined(separator: " ")
        if text.hasSuffix(".") {
            text.removeLast()
        }
        let escaped = TerminalText.escaped(text)
        // Options and quoted values keep their case.
        return escaped.prefix(1).lowercased() + escaped.dropFirst()
    }

    // MARK: Commands

    /// The commands that the arguments name. Values of options stand between them, so other words are skipped.
    private var commandPath: (names: [String], last: any ParsableCommand.Type) {
        var names: [String] = []
        var command: any ParsableCommand.Type = MediactlCommand.self
        for word in arguments.prefix(while: { $0 != "--" }) where !word.hasPrefix("-") {
            guard let next = command.configuration.subcommands.first(where: { $0._commandName == word }) else {
                continue
            }
            names.append(word)
            command = next
        }
        return (names, command)
    }

    /// The word that the parser did not expect where a command is due, and the command it resembles.
    private var misspelledCommand: (word: String, suggestion: String?, parents: [String])? {
        let path = commandPath
        let known = path.last.configuration.subcommands.map { $0._commandName }
        let complaint = MediactlCommand.message(for: error)
        guard !known.isEmpty, complaint.lowercased().contains("unexpected argument"),
            let word = arguments.first(where: { !path.names.contains($0) && complaint.contains("'\($0)'") })
        else { return nil }
        let nearest = known.map { (name: $0, distance: Self.editDistance(word, $0)) }.min { $0.distance < $1.distance }
        return (word, nearest.flatMap { $0.distance <= 2 ? $0.name : nil }, path.names)
    }

    /// Levenshtein's distance.
    static func editDistance(_ left: String, _ right: String) -> Int {
        let right = Array(right)
        var row = Array(0...right.count)
        for (i, character) in left.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, other) in right.enumerated() {
                let substituted = diagonal + (character == other ? 0 : 1)
                diagonal = row[j + 1]
                row[j + 1] = min(substituted, row[j] + 1, diagonal + 1)
            }
        }
        return row[right.count]
    }
}
