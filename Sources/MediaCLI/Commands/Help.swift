internal import ArgumentParser

/// `mediactl help [exit-codes | COMMAND…]`
struct Help: ContextCommand {
    static let schema = "mediactl.help/1"
    static let configuration = CommandConfiguration(
        abstract: "Show help for a command, or the exit codes.",
        discussion: "mediactl help exit-codes lists the exit codes of all commands.",
        helpNames: []
    )

    @Argument(help: ArgumentHelp("A command, or exit-codes.", valueName: "topic"))
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
                throw Diagnosis.usage(
                    "there is no help on \(ErrorCatalogue.quoted(topic))",
                    hint: "mediactl help lists the commands"
                )
            }
            command = next
        }
        console.context.output.write(MediactlCommand.helpMessage(for: command) + "\n")
        return .success
    }

    private func showExitCodes(on console: Console) -> ExitCode {
        for code in ExitCode.allCases {
            console.record(.item, ["code": .integer(Int64(code.rawValue)), "meaning": .string(code.meaning)])
        }
        var table = Table(columns: [.init(title: "CODE", alignment: .right), .init(title: "MEANING")])
        table.rows = ExitCode.allCases.map { ["\($0.rawValue)", $0.meaning] }
        console.text(table.lines(fitting: nil, style: console.outputStyle))
        console.summary(["items": JSONValue(ExitCode.allCases.count), "exit_code": 0])
        return .success
    }
}
