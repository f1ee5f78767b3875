internal import ArgumentParser

/// `mediactl uploads resume [ID… | --all]`
struct UploadsResume: ContextCommand {
    static let schema = "mediactl.uploads-resume/1"
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Resume interrupted uploads.",
        discussion: """
            The bytes on the server are compared with the file and not sent again. Details given here replace those \
            of the original upload, for example a label that the server refused.
            Without an ID, resumes the only resumable upload.

            Examples:
              mediactl uploads resume --all
              mediactl uploads resume u-h6zfchyzwaq7c3fo --label "Second set"
            """
    )

    @Argument(help: ArgumentHelp("IDs of uploads, as shown by mediactl uploads status.", valueName: "id"))
    var ids: [String] = []

    @Flag(help: "Resume all resumable uploads.")
    var all = false

    @Option(help: ArgumentHelp("Only uploads to this host (with :PORT when it is not the default).", valueName: "host"))
    var host: String?

    @Flag(help: "Show what would be resumed, without resuming it.")
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
            writesProgressRecords: global.progressEvents,
            hasEventLink: guest.eventLink.map { $0 != "ask" } ?? false
        )
        return try await run.run(records)
    }
}
