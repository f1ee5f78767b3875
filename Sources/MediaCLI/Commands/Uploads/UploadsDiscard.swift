internal import ArgumentParser

/// `mediactl uploads discard ID…`
struct UploadsDiscard: ContextCommand {
    static let schema = "mediactl.uploads-discard/1"
    static let configuration = CommandConfiguration(
        commandName: "discard",
        abstract: "Discard interrupted uploads and free their space on the server.",
        discussion: """
            Example:
              mediactl uploads discard u-h6zfchyzwaq7c3fo
            """
    )

    @Argument(help: ArgumentHelp("IDs of uploads, as shown by mediactl uploads status.", valueName: "id"))
    var ids: [String]

    @Flag(help: "Discard without confirmation.")
    var yes = false

    @Flag(help: "Discard even if the server is unreachable; the data on the server is then kept.")
    var evenUnreachable = false

    @Flag(help: "Show what would be discarded, without discarding it.")
    var dryRun = false

    @OptionGroup(title: "Guests with an event link") var guest: GuestOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try JournalSelection.check(ids)
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let store = try await StoreSession.open(settings)
        let records = try JournalSelection(store: store, host: nil).named(ids)
        let servers = try ServerSession(settings, credentials: credentials)
        let run = DiscardingRun(
            console: console,
            uploaders: UploaderSource(
                settings: settings,
                store: store,
                servers: servers,
                guest: guest,
                command: "mediactl uploads discard"
            ),
            confirmation: Confirmation(prompter: settings.prompter, isGiven: yes),
            evenUnreachable: evenUnreachable,
            isDryRun: dryRun
        )
        return try await run.run(records)
    }
}
