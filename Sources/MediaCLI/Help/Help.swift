internal import ArgumentParser
internal import MediaCore

struct Help: ContextCommand {
    static let schema = "mediactl.help/1"
    static let configuration = CommandConfiguration(
        commandName: "help",
        abstract: "Show help for a command, or the exit codes.",
        discussion: """
            Examples:
              mediactl help uploads delete
              mediactl help exit-codes
            """,
        helpNames: []
    )

    @Argument("A command, or exit-codes.", value: "topic")
    var topics: [String] = []

    @Flag(name: [.short, .long], help: .private)
    var help = false

    @OptionGroup(visibility: .hidden) var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        guard topics != ["exit-codes"] else {
            return showExitCodes(on: console)
        }
        var command: any ParsableCommand.Type = MediactlCommand.self
        for topic in topics {
            let next = command.configuration.subcommands.first { $0._commandName == topic }
            guard let next else {
                throw unknown(topic, below: command)
            }
            command = next
        }
        console.context.output.write(HelpText.of(command) + "\n")
        return .success
    }

    private func unknown(_ topic: String, below command: any ParsableCommand.Type) -> Diagnosis {
        let known = command.configuration.subcommands.map { $0._commandName }
        let parents = topics.prefix { $0 != topic }
        let near = Spelling.nearest(to: topic, among: known + (parents.isEmpty ? ["exit-codes"] : []))
        let path = (["mediactl help"] + parents).joined(separator: " ")
        return .usage(
            "there is no help on \(ErrorCatalogue.quoted(topic))",
            hint: near.map { "did you mean: \(path) \($0)" } ?? "\(path) lists the commands"
        )
    }

    private func showExitCodes(on console: Console) -> ExitCode {
        for code in ExitCode.allCases {
            console.record(.item, ["code": .integer(Int64(code.rawValue)), "meaning": .string(code.meaning)])
        }
        var table = Table(columns: [
            .init(title: "CODE", alignment: .right),
            .init(title: "MEANING", isFlexible: true, minimumWidth: 20, isWrapped: true),
        ])
        table.rows = ExitCode.allCases.map { ["\($0.rawValue)", $0.meaning] }
        console.table(table)
        console.text(["", "Example:", "  mediactl upload clip.mp4 || echo \"exit code $?\""])
        console.summary(["items": JSONValue(ExitCode.allCases.count), "exit_code": 0])
        return .success
    }
}

enum HelpText {
    static func of(_ command: any ParsableCommand.Type) -> String {
        tidied(MediactlCommand.helpMessage(for: command))
    }

    /// The parser lists up to a dozen options on the usage line, and only `<options>` if there are more. This replaces both
    /// with `[<options>]`, since the list below has the details. Required arguments stay.
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
        // The command name ends where its arguments begin.
        let name = short.prefixMatch(of: /USAGE: mediactl(?: [a-z][a-z-]*)*/).map { String($0.0) } ?? short
        return name + " [<options>]" + short.dropFirst(name.count)
    }
}
