internal import ArgumentParser

struct TapesInsert: TapeAddingCommand {
    static let schema = "mediactl.tapes-insert/1"
    static let configuration = CommandConfiguration(
        commandName: "insert",
        abstract: "Add pictures and videos between the clips of a tape.",
        discussion: """
            As tapes add, which has the details. The album shows what is in the tape, not the order: that is in the \
            playlist beside the links, and in exports.

            Example:
              mediactl tapes insert Summer --at 0 title.jpg
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument(help: ArgumentHelp("Pictures and videos.", valueName: "file"), completion: .file())
    var files: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How many clips stay before them: 0 is the beginning.", valueName: "n")
    )
    var at: Int

    @OptionGroup(title: "Which files") var input: TapeInputOptions
    @OptionGroup(title: "Adding options") var adding: TapeAddingOptions
    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        try await add(at: at, in: console)
    }
}
