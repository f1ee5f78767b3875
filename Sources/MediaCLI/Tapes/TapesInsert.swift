internal import ArgumentParser

struct TapesInsert: TapeAddingCommand {
    static let schema = "mediactl.tapes-insert/1"
    static let configuration = CommandConfiguration(
        commandName: "insert",
        abstract: "Add images and videos between the clips of a tape.",
        discussion: """
            Works like tapes add. The links and the playlist in the album are renumbered.

            Example:
              mediactl tapes insert Summer --position 1 title.jpg
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument("Images and videos.", value: .file)
    var files: [String] = []

    @OptionGroup var place: ClipPositionOption

    @Option(parsing: .unconditional, help: .hidden)
    var at: Int?

    @OptionGroup(title: "File selection") var input: TapeInputOptions
    @OptionGroup(title: "Options for adding") var adding: TapeAddingOptions
    @OptionGroup(title: "Library options") var connection: TapeUploadOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try place.check(old: "--at", at)
        try checkInput()
    }

    func run(in console: Console) async throws -> ExitCode {
        try await add(at: place.index(old: "--at", at, console), in: console)
    }
}
