internal import ArgumentParser

/// A command line that the parser refused, and what it may have been meant to be.
struct MistypedLine {
    /// The words before `--`, behind which nothing is an option or a command.
    private let words: [String]
    private let isUnexpected: (String) -> Bool

    /// - Parameters:
    ///   - arguments: The command line.
    ///   - isUnexpected: Whether the parser found no use for a word.
    init(_ arguments: [String], unexpected isUnexpected: @escaping (String) -> Bool) {
        words = Array(arguments.prefix { $0 != "--" })
        self.isUnexpected = isUnexpected
    }

    /// The commands that the line names, up to the first word that nothing is made of. Values of options stand between
    /// them, so other words are skipped.
    var path: (names: [String], last: any ParsableCommand.Type) {
        var names: [String] = []
        var command: any ParsableCommand.Type = MediactlCommand.self
        for word in words where !word.hasPrefix("-") {
            guard !isUnexpected(word) else { break }
            guard let next = Self.command(word, below: command) else { continue }
            names.append(word)
            command = next
        }
        return (names, command)
    }

    private static func command(
        _ name: String,
        below command: any ParsableCommand.Type
    ) -> (any ParsableCommand.Type)? {
        command.configuration.subcommands.first { $0._commandName == name }
    }

    // MARK: Commands

    /// The word that the parser did not expect where a command is due, and the command it resembles.
    var misspelledCommand: (word: String, suggestion: String?, parents: [String])? {
        if let found = unknownCommandOfHelp { return found }
        let path = path
        let unexpected = words.filter { isUnexpected($0) }
        guard !path.last.configuration.subcommands.isEmpty, let word = unexpected.first else { return nil }
        return (word, Self.suggestion(for: unexpected, below: path.last), path.names)
    }

    /// The word where a command is due in `mediactl WORD --help`, for which the parser shows the help of `mediactl`. A
    /// word behind an option may be its value, and is none.
    var unknownCommandOfHelp: (word: String, suggestion: String?, parents: [String])? {
        guard words.contains("--help") || words.contains("-h") else { return nil }
        var names: [String] = []
        var command: any ParsableCommand.Type = MediactlCommand.self
        for (index, word) in words.enumerated() where !word.hasPrefix("-") {
            guard !command.configuration.subcommands.isEmpty else { return nil }
            if let next = Self.command(word, below: command) {
                names.append(word)
                command = next
            } else if index == 0 || !words[index - 1].hasPrefix("-") {
                let rest = words[index...].filter { !$0.hasPrefix("-") }
                let suggestion = Self.suggestion(for: rest, below: command)
                // What takes files without a command may be asked for help with one.
                let mayBeFile = command.configuration.defaultSubcommand != nil && suggestion == nil
                return mayBeFile ? nil : (word, suggestion, names)
            }
        }
        return nil
    }

    /// The command that a word resembles, or that has the word below it: `list` means `uploads list`. When the next word
    /// is a command below it, or resembles one, it comes along.
    private static func suggestion(for words: [String], below command: any ParsableCommand.Type) -> String? {
        let commands = command.configuration.subcommands
        guard let word = words.first else { return nil }
        if let parent = commands.first(where: { Self.command(word, below: $0) != nil }) {
            return "\(parent._commandName) \(word)"
        }
        guard let name = Spelling.nearest(to: word, among: commands.map { $0._commandName }) else { return nil }
        guard words.count > 1, let next = Self.command(name, below: command) else { return name }
        let below = next.configuration.subcommands.map { $0._commandName }
        return Spelling.nearest(to: words[1], among: below).map { "\(name) \($0)" } ?? name
    }

    // MARK: Options

    /// The long options of a command, or of all commands below one that only groups them; read from its help, because
    /// the parser keeps them to itself.
    static func options(of command: any ParsableCommand.Type) -> [String] {
        let below = command.configuration.subcommands
        guard below.isEmpty else { return Array(Set(below.flatMap { options(of: $0) })).sorted() }
        return MediactlCommand.helpMessage(for: command, columns: 80).split(separator: "\n")
            .filter { $0.hasPrefix("  -") }
            .flatMap { line in
                // The description begins after two blanks.
                let label = line.dropFirst(2).firstRange(of: "  ").map { line[..<$0.lowerBound] } ?? line
                return label.matches(of: /--[a-z0-9][a-z0-9-]*/).map { String($0.0) }
            }
    }
}
