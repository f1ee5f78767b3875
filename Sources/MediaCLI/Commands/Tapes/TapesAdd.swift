internal import ArgumentParser

/// `mediactl tapes add TAPE FILE…`
struct TapesAdd: TapeAddingCommand {
    static let schema = "mediactl.tapes-add/1"
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add pictures and videos to the end of a tape, and to its album.",
        discussion: """
            The clips are kept first; whatever happens to the album then, they stay, and the album is made up for later. \
            Only the path is kept: no original is copied, moved or changed. --from-upload takes what an upload has sent.

            Examples:
              mediactl tapes add Summer beach.mp4 sunset.jpg
              mediactl upload *.mp4 --json | mediactl tapes add Summer --from-upload -
              find . -name "*.jpg" -print0 | mediactl tapes add Summer --files-from0 -
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument(help: ArgumentHelp("Pictures and videos.", valueName: "file"), completion: .file())
    var files: [String] = []

    @OptionGroup(title: "Which files") var input: TapeInputOptions
    @OptionGroup(title: "Adding options") var adding: TapeAddingOptions
    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        try await add(at: nil, in: console)
    }
}
