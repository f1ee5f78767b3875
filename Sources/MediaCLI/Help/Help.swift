internal import ArgumentParser
internal import MediaCore

struct Help: ContextCommand {
    static let schema = "mediactl.help/1"
    static let configuration = CommandConfiguration(
        commandName: "help",
        abstract: "Show help for a command, the connection options, or the exit codes.",
        discussion: """
            -h shows the most important options of a command, and --help shows all of them.

            Examples:
              mediactl help uploads delete
              mediactl help connection
              mediactl help exit-codes
            """,
        helpNames: []
    )

    @Argument("A command, connection, or exit-codes.", value: HelpValue("topic", completion: .list(Self.completions)))
    var topics: [String] = []

    @Flag(name: [.short, .long], help: .private)
    var help = false

    @OptionGroup(visibility: .hidden) var global: GlobalOptions

    private static var completions: [String] {
        MediactlCommand.configuration.subcommands.map { $0._commandName } + ["connection", "exit-codes"]
    }

    func validate() throws {
        try require(!global.json || topics == ["exit-codes"], "--json is only for: mediactl help exit-codes")
    }

    func run(in console: Console) async throws -> ExitCode {
        guard topics != ["exit-codes"] else {
            return showExitCodes(on: console)
        }
        guard topics != ["connection"] else {
            console.context.output.write(ConnectionTopic.helpMessage() + "\n")
            return .success
        }
        var command: any ParsableCommand.Type = MediactlCommand.self
        for topic in topics {
            guard let next = command.subcommand(topic) else { throw unknown(topic, below: command) }
            command = next
        }
        console.context.output.write(HelpText.of(command) + "\n")
        return .success
    }

    private func unknown(_ topic: String, below command: any ParsableCommand.Type) -> UserFacingError {
        let known = command.configuration.subcommands.map { $0._commandName }
        let parents = topics.prefix { $0 != topic }
        let near = Spelling.nearest(to: topic, among: known + (parents.isEmpty ? ["connection", "exit-codes"] : []))
        let path = (["mediactl help"] + parents).joined(separator: " ")
        return .usage(
            "no help for \(ErrorCatalog.quoted(topic))",
            hint: near.map { "did you mean: \(path) \($0)" } ?? "see \(path)"
        )
    }

    private func showExitCodes(on console: Console) -> ExitCode {
        for code in ExitCode.allCases {
            console.record(.item, ["code": .integer(Int64(code.rawValue)), "meaning": .string(code.meaning)])
        }
        let columns: [Table.Column] = [
            .init(title: "CODE", alignment: .right),
            .init(title: "MEANING", isFlexible: true, minimumWidth: 20, isWrapped: true),
        ]
        console.table(Table(columns: columns).rows(for: ExitCode.allCases) { ["\($0.rawValue)", $0.meaning] })
        console.text(["", "Example:", "  mediactl upload clip.mp4 || echo \"exit code $?\""])
        return console.finish(["items": JSONValue(ExitCode.allCases.count)])
    }
}

/// `mediactl help connection`. Never run.
private struct ConnectionTopic: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Options of the commands that connect to a server.",
        usage: "",
        discussion: """
            Each command accepts those that apply to it. All except the credentials can also be set in the settings file, at its top \
            or in a profile, and in the environment: --connect-timeout is connect_timeout and MEDIACTL_CONNECT_TIMEOUT. The command \
            line takes precedence over the environment, the profile and the top of the file; mediactl config show prints the \
            values in use.
            """,
        helpNames: []
    )

    @OptionGroup(title: "Server") var server: ServerOptions
    @OptionGroup(title: "Login") var identity: UserOptions
    @OptionGroup(title: "Login") var credentials: CredentialOptions
    @OptionGroup(title: "TLS and HTTP") var protection: ProtocolOptions
    @OptionGroup(title: "Timeouts and retries") var limits: TimeoutOptions
    @OptionGroup(title: "Bandwidth") var rate: RateOptions
}

enum HelpText {
    static func of(_ command: any ParsableCommand.Type) -> String {
        tidied(MediactlCommand.helpMessage(for: command))
    }

    /// Replaces the options on the usage line with `[<options>]`, since the list below has the details. The parser
    /// prints up to a dozen options there, or only `<options>` if there are more. Required arguments are kept.
    static func tidied(_ help: String) -> String {
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            line.hasPrefix("USAGE: mediactl ") ? usage(String(line)) : String(line)
        }
        return lines.joined(separator: "\n")
    }

    private static func usage(_ line: String) -> String {
        let short = line.replacing(#/ \[-[^\]]*\]/#, with: "").replacing(" [<options>]", with: "").replacing(
            " <options>",
            with: ""
        )
        guard short != line else { return line }
        // The command name ends where its arguments start.
        let name = short.prefixMatch(of: /USAGE: mediactl(?: [a-z][a-z-]*)*/).map { String($0.0) } ?? short
        return name + " [<options>]" + short.dropFirst(name.count)
    }

    // MARK: -h

    /// The options shown by `-h` for commands that have many. Other commands show all options except those in ``rare``.
    static let everyday: [String: Set<String>] = [
        "upload": [
            "--event-date", "--org-name", "--label", "--recursive", "--include", "--exclude", "--dry-run", "--again",
            "--jobs", "--event-link-file", "--password-file", "--server", "--user", "--json",
        ],
        "uploads resume": [
            "--all", "--dry-run", "--event-date", "--org-name", "--label", "--event-link-file", "--password-file",
            "--server", "--user", "--json",
        ],
        "hash-only send": [
            "--depth", "--no-depth", "--location", "--captured-at", "--utc-offset", "--media-type", "--location-level",
            "--timestamp-level", "--device-level", "--dry-run", "--server", "--json",
        ],
        "tapes add": addingToTapes, "tapes insert": addingToTapes,
    ]

    private static let addingToTapes: Set<String> = [
        "--files-from", "--from-upload", "--uploaded", "--uploaded-last", "--live", "--no-album", "--dry-run",
        "--library", "--api-key-file", "--json",
    ]

    private static let rare = MistypedLine.connectionOptions.subtracting(["--server", "--user"]).union([
        "--progress-events", "--quiet", "--verbose", "--color", "--no-input", "--config", "--data-dir", "--version",
        "--help", "--password-stdin", "--api-key-stdin",
    ])

    /// The help for a command with `-h`: its abstract and its most important options. A command group without options
    /// has only one help text.
    static func short(_ help: String, of command: [String]) -> String {
        let name = command.joined(separator: " ")
        let blocks = help.split(separator: "\n\n").map { $0.split(separator: "\n") }
        let start = blocks.firstIndex { $0.first?.hasPrefix("USAGE:") == true } ?? 0
        let sections = blocks.dropFirst(start + 1).map { section in
            section.first.map { $0 == "ARGUMENTS:" || $0 == "SUBCOMMANDS:" || $0.hasPrefix(" ") } == true
                ? section : important(section, everyday[name])
        }
        guard sections.contains(where: { $0.contains { MistypedLine.option(inHelp: $0) != nil } }) else { return help }
        let hasConnection = blocks.contains { $0.first?.hasPrefix("CONNECTION OPTIONS") == true }
        let ending: [Substring] =
            ["All options: mediactl \(name) --help"]
            + (hasConnection ? ["Connection options: mediactl help connection"] : [])
        let overview = start > 0 ? [blocks[0]] : []
        let shown = overview + [blocks[start]] + sections.filter { $0.count > 1 } + [ending]
        return shown.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    /// A section with its title and the options that `-h` shows.
    private static func important(_ section: [Substring], _ everyday: Set<String>?) -> [Substring] {
        var isShown = true
        return section.filter { line in
            if let option = MistypedLine.option(inHelp: line) {
                isShown = everyday?.contains(option) ?? !rare.contains(option)
            }
            return isShown
        }
    }
}
