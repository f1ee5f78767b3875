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
        guard MediactlCommand.exitCode(for: error) != .success || unknownCommandOfHelp != nil else {
            let answer = text == VersionText.program ? VersionText.lines.joined(separator: "\n") : text
            context.output.write(answer + "\n")
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
        if let diagnosis = dashedValue {
            return diagnosis
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
        text = Self.namingChoices(text)
        let escaped = TerminalText.escaped(text)
        // Options and quoted values keep their case.
        return escaped.prefix(1).lowercased() + escaped.dropFirst()
    }

    /// `…'. Please provide one of 'a' and 'b'` becomes `…': use a or b`.
    private static func namingChoices(_ text: String) -> String {
        guard let request = text.firstRange(of: ". Please provide one of ") else { return text }
        let choices = text[request.upperBound...].replacing("'", with: "")
            .replacing(" and ", with: " or ").replacing(", or ", with: " or ")
        return text[..<request.lowerBound] + ": use " + choices
    }

    // MARK: Values that look like flags

    /// An option whose value begins with a dash, which the parser takes for the next flag.
    private var dashedValue: Diagnosis? {
        let complaint = MediactlCommand.message(for: error)
        guard complaint.lowercased().hasPrefix("missing value for '") else { return nil }
        let words = arguments.prefix { $0 != "--" }
        for (option, value) in zip(words, words.dropFirst())
        where option.hasPrefix("--") && Self.isDashedNumber(value)
            && (complaint.contains("'\(option)'") || complaint.contains("'\(option) "))
        {
            return .usage(
                "\(option): \(ErrorCatalogue.quoted(value)) looks like a flag\(Self.range(of: option))",
                hint: "a value that begins with - is written \(option)=\(TerminalText.escaped(value))"
            )
        }
        return nil
    }

    private static func isDashedNumber(_ word: String) -> Bool {
        word.hasPrefix("-") && word.dropFirst().first?.isNumber == true
    }

    /// What an option takes, for those that take numbers.
    private static func range(of option: String) -> String {
        switch option {
        case "--rating": "; a rating is a whole number from 0 to 9"
        case "--limit-rate": "; a rate is a number of bytes above 0"
        case "--retries": "; it is a whole number from 0"
        case "--jobs": "; it is a whole number from 1 to 16"
        case "--chunk-size": "; a size is a number of bytes from 64K"
        default: option.hasSuffix("-timeout") ? "; a time is a number above 0" : ""
        }
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
        let commands = path.last.configuration.subcommands
        let complaint = MediactlCommand.message(for: error)
        guard !commands.isEmpty, let word = unknownCommandOfHelp ?? unexpectedWord(complaint, path.names) else {
            return nil
        }
        return (word, Self.suggestion(for: word, among: commands), path.names)
    }

    private func unexpectedWord(_ complaint: String, _ names: [String]) -> String? {
        guard complaint.lowercased().contains("unexpected argument") else { return nil }
        return arguments.first { !names.contains($0) && complaint.contains("'\($0)'") }
    }

    /// The word where a command is due in `mediactl WORD --help`, for which the parser shows the help of `mediactl`. A
    /// word behind an option may be its value, and is none.
    private var unknownCommandOfHelp: String? {
        let words = Array(arguments.prefix { $0 != "--" })
        let path = commandPath
        guard words.contains("--help") || words.contains("-h"), !path.last.configuration.subcommands.isEmpty else {
            return nil
        }
        return words.indices.first { index in
            !words[index].hasPrefix("-") && !path.names.contains(words[index])
                && (index == 0 || !words[index - 1].hasPrefix("-"))
        }.map { words[$0] }
    }

    /// The command that a word resembles, or that has the word below it: `list` means `uploads list`.
    private static func suggestion(for word: String, among commands: [any ParsableCommand.Type]) -> String? {
        let parent = commands.first { $0.configuration.subcommands.contains { $0._commandName == word } }
        if let parent {
            return "\(parent._commandName) \(word)"
        }
        let distances = commands.map { (name: $0._commandName, distance: editDistance(word, $0._commandName)) }
        return distances.min { $0.distance < $1.distance }.flatMap { $0.distance <= 2 ? $0.name : nil }
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
