internal import ArgumentParser

/// `mediactl uploads resume [ID… | --all]`
struct UploadsResume: ContextCommand {
    static let schema = "mediactl.uploads-resume/1"
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Go on with uploads that were cut.",
        discussion: """
            What the server has is not sent again, after it was compared with the file. Details given here replace those \
            that the upload was begun with, for example a label that the server refused.
            Without a number the only upload that can go on is meant.

            Examples:
              mediactl uploads resume --all
              mediactl uploads resume u-h6zfchyzwaq7c3fo --label "Second set"
            """
    )

    @Argument(help: ArgumentHelp("Uploads by their ids, as mediactl uploads status shows them.", valueName: "id"))
    var ids: [String] = []

    @Flag(help: "All uploads that can go on.")
    var all = false

    @Option(help: ArgumentHelp("Only uploads to this host (with :PORT when it is not the default).", valueName: "host"))
    var host: String?

    @Flag(help: "Only say what would go on.")
    var dryRun = false

    @OptionGroup(title: "Details to correct") var details: DetailOptions
    @OptionGroup(title: "Upload options") var transfer: TransferOptions
    @OptionGroup(title: "Guests with an event link") var guest: GuestOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard ids.isEmpty || !all else { throw ValidationError("--all and ids exclude each other.") }
        try JournalSelection.check(ids)
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(
            console,
            global: global,
            connection: connection,
            details: details,
            sending: SendingFlags(transport: transfer)
        )
        let store = try await StoreSession.open(settings)
        let selection = JournalSelection(store: store, host: host?.lowercased())
        let records = try ids.isEmpty ? selection.resumable(all: all) : selection.named(ids)
        let servers = try ServerSession(settings, credentials: credentials)
        let run = ResumptionRun(
            console: console,
            settings: settings,
            uploaders: UploaderSource(settings: settings, store: store, servers: servers, guest: guest),
            corrections: details.given,
            isDryRun: dryRun,
            writesProgressRecords: global.progressEvents
        )
        return try await run.run(records)
    }
}
