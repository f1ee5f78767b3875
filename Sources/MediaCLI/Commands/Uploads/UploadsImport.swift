internal import ArgumentParser
internal import MediaStore

/// `mediactl uploads import FILE|-`
struct UploadsImport: ContextCommand {
    static let schema = "mediactl.uploads-import/1"
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Take over delete tokens that mediactl uploads export wrote.",
        discussion: """
            Importing twice changes nothing. Of two tokens for one file both are kept, and the newer one is used. What was \
            deleted or removed here stays removed.

            Example:
              mediactl uploads import tokens.jsonl
            """
    )

    @Argument(help: ArgumentHelp("The exported file; - is standard input.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Only say what would be taken over.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard file != "" else { throw ValidationError("An empty path.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        // The whole file is understood before the first entry is stored.
        let entries = try ImportFile.entries(of: file, standardInput: console.context.standardInput)
        let session = try await StoreSession.open(settings)
        let tally = ImportTally(try session.store.add(entries, isDryRun: dryRun))
        console.text([tally.text(isDryRun: dryRun)])
        console.summary(tally.members(isDryRun: dryRun))
        return .success
    }
}
