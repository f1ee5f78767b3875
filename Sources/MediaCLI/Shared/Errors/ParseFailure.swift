internal import ArgumentParser
internal import Glibc
internal import MediaCore
internal import MediaFiles

/// An error thrown by the parser; this includes help and version.
struct ParseFailure {
    private let error: any Error
    private let arguments: [String]
    /// The parser's message. Its errors have no public type, so the cause is parsed from the message.
    private let parserMessage: String

    init(_ error: any Error, arguments: [String]) {
        self.error = error
        self.arguments = arguments
        parserMessage = MediactlCommand.message(for: error)
    }

    /// Prints the failure in the requested format and returns the exit code.
    func report(in context: CommandContext) -> ExitCode {
        let text = MediactlCommand.fullMessage(for: error)
        let isMistyped = line.unknownCommandOfHelp != nil || line.unintendedHelp != nil
        guard MediactlCommand.exitCode(for: error) != .success || isMistyped else {
            let isVersion = text == VersionText.program
            context.output.write((isVersion ? VersionText.lines.joined(separator: "\n") : help(text)) + "\n")
            return .success
        }
        let userFacingError = userFacingError
        // The flags may be the cause of the failure, so `--json` is searched for as a plain word.
        let preferences = OutputPreferences(isJSON: arguments.prefix { $0 != "--" }.contains("--json"))
        Console(context, schema: "mediactl.error/1", preferences: preferences).fail(userFacingError)
        return userFacingError.exitCode
    }

    /// All options, or only the most important ones for `-h`.
    private func help(_ text: String) -> String {
        let help = HelpText.tidied(text)
        let words = arguments.prefix { $0 != "--" }
        return words.contains("--help") || !words.contains("-h") ? help : HelpText.short(help, of: line.path.names)
    }

    /// The end of the message for a `-` where a file to create is expected.
    static let notStandardOutput = " cannot be written to standard output"

    /// The end of the message for a `-` where a file to read is expected.
    static let notStandardInput = " cannot be read from standard input"

    var userFacingError: UserFacingError {
        secretAsArgument ?? line.unintendedHelp.map(unknown(option:)) ?? misspelledCommand ?? dashedValue
            ?? negativeID ?? unknownOption ?? refusedValue ?? overlookedOption ?? standardStream
            ?? .usage(message, hint: helpHint)
    }

    /// `-` in place of a file.
    private var standardStream: UserFacingError? {
        guard [Self.notStandardInput, Self.notStandardOutput].contains(where: message.hasSuffix) else { return nil }
        return .usage(message, hint: "for a file with that name, write ./-")
    }

    private var line: MistypedLine {
        let isUnexpected = parserMessage.lowercased().contains("unexpected argument")
        return MistypedLine(arguments, unexpected: { isUnexpected && parserMessage.contains("'\($0)'") })
    }

    private var helpHint: String { "see \((["mediactl"] + line.path.names).joined(separator: " ")) --help" }

    // MARK: Messages

    /// The parser's message in our style: options and arguments without quotes, user input in double quotes.
    private var message: String {
        let lines = parserMessage.split(separator: "\n").map { $0.drop { $0 == " " } }
        var text = lines.joined(separator: " ")
        if text.hasSuffix(".") {
            text.removeLast()
        }
        let openings = ["Missing ", "Unexpected argument ", "The option '"]
        if openings.contains(where: text.hasPrefix) || text.contains(" unexpected arguments: ") {
            text = text.replacing("Missing expected argument ", with: "Missing ", maxReplacements: 1)
            text = text.replacing(/'(-[^']*|<[^']*)'/) { $0.1 }.replacing(/'([^']*)'/) { "\"\($0.1)\"" }
        }
        let escaped = TerminalText.escaped(text)
        // Options, quoted values and acronyms (IDs) keep their case.
        let isAcronym = escaped.dropFirst().first?.isUppercase == true
        return isAcronym ? escaped : escaped.prefix(1).lowercased() + escaped.dropFirst()
    }

    /// An option with a secret as its value. The message does not repeat the value.
    private var secretAsArgument: UserFacingError? {
        let replacements: KeyValuePairs = [
            "--password": "use --password-file FILE, --password-stdin or MEDIACTL_PASSWORD",
            "--api-key": "use --api-key-file FILE or MEDIACTL_API_KEY",
        ]
        let words = arguments.prefix { $0 != "--" }
        for (option, hint) in replacements where words.contains(where: { $0 == option || $0.hasPrefix(option + "=") }) {
            return .usage("\(option) is not supported: other users can see arguments", hint: hint)
        }
        return nil
    }

    private var misspelledCommand: UserFacingError? {
        guard let (word, suggestion, parents) = line.misspelledCommand else { return nil }
        let path = (["mediactl"] + parents).joined(separator: " ")
        if FileWalk.isDirectory(Array(word.utf8)) {
            return .usage("unexpected argument \(ErrorCatalog.quoted(word))", hint: "see \(path) --help")
        }
        return .usage(
            "unknown command \(ErrorCatalog.quoted(word))",
            hint: suggestion.map { "did you mean: \(path) \($0)" } ?? "see \(path) --help"
        )
    }

    /// The parser suggests only the command's options, and nothing for other words.
    private var unknownOption: UserFacingError? {
        guard let match = parserMessage.firstMatch(of: /^Unknown option '(-[^']+)'/) else { return nil }
        return unknown(option: String(match.1))
    }

    /// The parser reports a missing argument before an unknown option, although the latter is the cause.
    private var overlookedOption: UserFacingError? {
        let known = MistypedLine.options(of: line.path.last, includeHidden: true) + ["--help", "--version"]
        if let name = line.options.first(where: { !known.contains($0) }),
            !MistypedLine.options(of: MediactlCommand.self).contains(name)
        {
            return unknown(option: name)
        }
        return line.unknownClusters.first.map(unknown(option:))
    }

    /// A connection option that the command does not use; nil if it uses all of them. The parser accepts the options of
    /// `mediactl` itself anywhere.
    static func unusedOption(of command: any ContextCommand, arguments: [String]) -> ParseFailure? {
        let line = MistypedLine(arguments, unexpected: { _ in false })
        let used = command.connection.flags.names
        let given = line.options.filter { MistypedLine.connectionOptions.contains($0) && !used.contains($0) }
        guard !given.isEmpty else { return nil }
        // Generated only at this point, because it takes a tenth of the startup time.
        let known = MistypedLine.ownOptions(of: type(of: command), includeHidden: true)
        guard let option = given.first(where: { !known.contains($0) }) else { return nil }
        let name = line.path.names.joined(separator: " ")
        return ParseFailure(ValidationError("\(option) is not used by mediactl \(name)"), arguments: arguments)
    }

    private func unknown(option: String) -> UserFacingError {
        let name = option.drop { $0 == "-" }
        let known = MistypedLine.options(of: line.path.last).map { String($0.dropFirst(2)) }
        // An option that weakens security is suggested only for a typo, never to complete a prefix.
        let isWeakening = ["allow-http", "insecure"].contains
        let nearest = name.count > 1 ? Spelling.nearest(to: String(name), among: known) : nil
        let near = nearest.flatMap { option == "--\($0)" || (isWeakening($0) && $0.hasPrefix(name)) ? nil : $0 }
        return .usage(
            "unknown option \(TerminalText.escaped(option))",
            hint: commandWith(option) ?? fileHint(option) ?? near.flatMap { Self.suggestion($0, for: name) } ?? helpHint
        )
    }

    /// The hint for a file whose name begins with a dash, such as one matched by `*.mp4`.
    private func fileHint(_ option: String) -> String? {
        guard option.contains(".") || access(option, F_OK) == 0 else { return nil }
        return "for a file, write ./\(TerminalText.escaped(option))"
    }

    /// The subcommand that has the option, if the command line ends with a command group.
    private func commandWith(_ option: String) -> String? {
        let commands = line.path.last.configuration.subcommands.filter { MistypedLine.options(of: $0).contains(option) }
        guard commands.count == 1 else { return nil }
        let names = ["mediactl"] + line.path.names + commands.map { $0._commandName }
        return "did you mean: \((names + [option]).joined(separator: " "))"
    }

    /// An option that weakens security is suggested only for a typo of one or two letters, never for a prefix.
    private static func suggestion(_ near: String, for name: Substring) -> String? {
        let isWeakening = near == "insecure" || near.hasPrefix("allow-")
        return isWeakening && abs(near.count - name.count) > 2 ? nil : "did you mean: --\(near)"
    }

    // MARK: Values

    /// A value that is not among the valid values, or is not a number where a number is required.
    private var refusedValue: UserFacingError? {
        let form = /^The value '(.*)' is invalid for '(--?[^ ']+|<[^']+>)[^']*'(.*)$/.dotMatchesNewlines()
        guard let match = parserMessage.firstMatch(of: form) else { return nil }
        let (value, subject) = (String(match.1), String(match.2))
        guard match.3.contains("Please provide one of") else {
            let reason =
                match.3.hasPrefix(": ") ? "cannot be used\(TerminalText.escaped(String(match.3)))" : "is not a number"
            return .usage("\(subject): \(ErrorCatalog.quoted(value)) \(reason)", hint: helpHint)
        }
        // Up to five values are listed on one line; more are listed on separate lines.
        let row = match.3.matches(of: /'([^']+)'/).map { String($0.1) }
        let known = row.isEmpty ? match.3.matches(of: /\n +- (\S+)/).map { String($0.1) } : row
        let invalid = InvalidValue(value, noneOf: known)
        return .usage(
            "\(subject): \(ErrorCatalog.quoted(value)) \(invalid.rule)",
            hint: invalid.hint ?? helpHint
        )
    }

    /// An option whose value starts with a dash, which the parser interprets as the next flag.
    private var dashedValue: UserFacingError? {
        guard parserMessage.lowercased().hasPrefix("missing value for '") else { return nil }
        let words = arguments.prefix { $0 != "--" }
        for (option, value) in zip(words, words.dropFirst())
        where option.hasPrefix("--") && Self.isDashedNumber(value)
            && (parserMessage.contains("'\(option)'") || parserMessage.contains("'\(option) "))
        {
            return .usage(
                "\(option): \(ErrorCatalog.quoted(value)) looks like a flag\(Self.range(of: option))",
                hint: "to use a value that begins with -, write \(option)=\(TerminalText.escaped(value))"
            )
        }
        return nil
    }

    /// A negative number in place of an ID, which the parser takes for an option. After an option, the number may be
    /// the option's value.
    private var negativeID: UserFacingError? {
        guard parserMessage.firstMatch(of: /^Unknown option '-[0-9]|argument '<id>|^Specify\b/) != nil else {
            return nil
        }
        let words = Array(arguments.prefix { $0 != "--" })
        let found = zip(words, words.dropFirst())
            .first { !$0.hasPrefix("-") && $1.wholeMatch(of: /-[0-9]+/) != nil }
        let help = MediactlCommand.helpMessage(for: line.path.last, columns: 80).split(separator: "\n")
        guard let word = found?.1, help.contains(where: { $0.hasPrefix("  <id>") }) else { return nil }
        return .usage("<id>: \(ErrorCatalog.quoted(word)) is not a valid ID", hint: helpHint)
    }

    private static func isDashedNumber(_ word: String) -> Bool {
        word.hasPrefix("-") && word.dropFirst().first?.isNumber == true
    }

    /// The valid range, for options that take numbers.
    private static func range(of option: String) -> String {
        switch option {
        case "--rating": "; specify a whole number from 0 to 9"
        case "--limit-rate": "; specify a number of bytes per second, or 0 for no limit"
        case "--retries": "; specify a non-negative whole number"
        case "--jobs": "; specify a whole number from 1 to 16"
        case "--chunk-size": "; specify a number of bytes, at least 64K"
        default: option.hasSuffix("-timeout") ? "; specify a number above 0" : ""
        }
    }
}

/// A command line that the parser rejected, and what the user may have meant.
struct MistypedLine {
    /// The words before `--`; after it, nothing is an option or a command.
    private let words: [String]
    private let isUnexpected: (String) -> Bool

    /// `isUnexpected` returns whether a word was unexpected to the parser.
    init(_ arguments: [String], unexpected isUnexpected: @escaping (String) -> Bool) {
        words = Array(arguments.prefix { $0 != "--" })
        self.isUnexpected = isUnexpected
    }

    /// The commands on the line, up to the first unexpected word. Words between them may be values of options and are
    /// skipped.
    var path: (names: [String], last: any ParsableCommand.Type) {
        var names: [String] = []
        var command: any ParsableCommand.Type = MediactlCommand.self
        for word in words where !word.hasPrefix("-") {
            guard !isUnexpected(word) else { break }
            guard let next = command.subcommand(word) else { continue }
            names.append(word)
            command = next
        }
        return (names, command)
    }

    // MARK: Commands

    /// The unexpected word in the position of a command, and the command it resembles.
    var misspelledCommand: (word: String, suggestion: String?, parents: [String])? {
        if let found = unknownCommandOfHelp { return found }
        let path = path
        let unexpected = words.filter { isUnexpected($0) }
        guard !path.last.configuration.subcommands.isEmpty, let word = unexpected.first else { return nil }
        return (word, Self.suggestion(for: unexpected, below: path.last), path.names)
    }

    /// The word in the position of a command in `mediactl WORD --help`, for which the parser shows the help of
    /// `mediactl`. A word after an option may be its value and is ignored.
    var unknownCommandOfHelp: (word: String, suggestion: String?, parents: [String])? {
        guard words.contains("--help") || words.contains("-h") else { return nil }
        var names: [String] = []
        var command: any ParsableCommand.Type = MediactlCommand.self
        for (index, word) in words.enumerated() where !word.hasPrefix("-") {
            guard !command.configuration.subcommands.isEmpty else { return nil }
            if let next = command.subcommand(word) {
                names.append(word)
                command = next
            } else if index == 0 || !words[index - 1].hasPrefix("-") {
                let rest = words[index...].filter { !$0.hasPrefix("-") }
                let suggestion = Self.suggestion(for: rest, below: command)
                // A command with a default subcommand also accepts files, for example `hash-only FILE --help`.
                let mayBeFile = command.configuration.defaultSubcommand != nil && suggestion == nil
                return mayBeFile ? nil : (word, suggestion, names)
            }
        }
        return nil
    }

    /// The command that a word resembles or is a synonym for, or the command that has this word as a subcommand: `list`
    /// means `uploads list`. If the next word is or resembles a subcommand of the result, it is included.
    private static func suggestion(for words: [String], below command: any ParsableCommand.Type) -> String? {
        let commands = command.configuration.subcommands
        guard let word = words.first else { return nil }
        if word == "version", command == MediactlCommand.self { return "--version" }
        let names = synonyms[word, default: []]
        if let name = names.first(where: { command.subcommand($0) != nil }) { return name }
        for name in [word] + names {
            if let parent = commands.first(where: { $0.subcommand(name) != nil }) {
                return "\(parent._commandName) \(name)"
            }
        }
        guard let name = Spelling.nearest(to: word, among: commands.map { $0._commandName }) else { return nil }
        guard words.count > 1, let next = command.subcommand(name) else { return name }
        let below = next.configuration.subcommands.map { $0._commandName }
        return Spelling.nearest(to: words[1], among: below).map { "\(name) \($0)" } ?? name
    }

    /// Names of commands in other programs, with the corresponding commands here.
    private static let synonyms: [String: [String]] = [
        "ls": ["list"], "dir": ["list"], "rm": ["delete", "remove"], "del": ["delete", "remove"],
        "remove": ["delete"], "cp": ["upload", "add"], "copy": ["upload", "duplicate"],
        "put": ["upload", "push", "add"], "send": ["upload", "push"], "get": ["download", "show"],
        "fetch": ["download"], "cat": ["show"],
        "info": ["show", "status"], "stat": ["show", "status"], "view": ["show"], "search": ["find"],
        "mv": ["move", "rename"], "new": ["create"], "auth": ["login"], "signin": ["login"], "signout": ["logout"],
        "update": ["pull"],
    ]

    /// The command among `commands`, which have no subcommands, that corresponds to a word from another program.
    static func synonym(of word: String, among commands: [String]) -> String? {
        synonyms[word]?.first(where: commands.contains)
    }

    // MARK: Options

    /// The long options on the line, without their values.
    var options: [String] { words.filter { $0.hasPrefix("--") }.map { String($0.prefix { $0 != "=" }) } }

    /// Words with one dash and several characters, not all of which are flags of the command or digits, such as
    /// `-beach.mp4`.
    var unknownClusters: [String] {
        let command = path.last
        let flags = MistypedLine.shortOptions(of: command).union("h")
        return words.filter { word in
            word.hasPrefix("-") && !word.hasPrefix("--") && word.count > 2 && word != "-help"
                && !(word.dropFirst().first?.isNumber ?? false)
                && !word.dropFirst().allSatisfy { flags.contains($0) || $0.isNumber }
        }
    }

    /// The word that the parser took for `-h` although it contains other letters, such as `-beach.mp4`; nil if help was
    /// requested.
    var unintendedHelp: String? {
        guard !words.contains("--help"), !words.contains("-h"), !words.contains("help"), !words.contains("--version")
        else { return nil }
        return unknownClusters.first { $0.contains("h") }
    }

    /// The letters of the short options of a command, read from the help, as for long options.
    private static func shortOptions(of command: any ParsableCommand.Type) -> Set<Character> {
        let lines = MediactlCommand.helpMessage(for: command, includeHidden: true, columns: 80).split(separator: "\n")
        return Set(
            lines.compactMap { line in
                guard let match = line.prefixMatch(of: /[ ]{2}-([A-Za-z0-9])[, ]/) else { return nil }
                return match.1.first
            }
        )
    }

    /// Options that `mediactl` itself accepts, for commands that connect to a server.
    static let connectionOptions: Set<String> = Set(
        [
            SettingKey.server, .user, .caFile, .pinnedKey, .insecure, .allowHTTP, .http2, .connectTimeout,
            .stallTimeout, .responseTimeout, .limitRate, .retries, .finishTimeout, .settleTimeout,
        ].map(\.flag) + ["--answer-timeout", "--profile"]
    )

    /// The long options of a command, or of all commands in a group. They are read from the help, because the parser
    /// has no public list of them.
    static func options(of command: any ParsableCommand.Type, includeHidden: Bool = false) -> [String] {
        let below = command.configuration.subcommands
        guard below.isEmpty else {
            return Array(Set(below.flatMap { options(of: $0, includeHidden: includeHidden) })).sorted()
        }
        return ownOptions(of: command, includeHidden: includeHidden)
    }

    /// The long options of a command, without those of its subcommands.
    static func ownOptions(of command: any ParsableCommand.Type, includeHidden: Bool = false) -> [String] {
        MediactlCommand.helpMessage(for: command, includeHidden: includeHidden, columns: 80)
            .split(separator: "\n")
            .flatMap(options(inHelp:))
    }

    /// The first long option described by a line of help; nil for other lines.
    static func option(inHelp line: Substring) -> String? { options(inHelp: line).first }

    private static func options(inHelp line: Substring) -> [String] {
        guard line.hasPrefix("  -") else { return [] }
        // The description starts after two spaces.
        let label = line.dropFirst(2).firstRange(of: "  ").map { line[..<$0.lowerBound] } ?? line
        let words = label.split { !($0.isLowercase || $0.isNumber || $0 == "-") }
        return words.filter { $0.hasPrefix("--") }.map(String.init)
    }
}
