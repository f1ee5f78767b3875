internal import ArgumentParser
internal import GigHive
internal import MediaStore

/// `mediactl media delete ID…`
struct MediaDelete: ContextCommand {
    static let schema = "mediactl.media-delete/1"
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete files from a server as its administrator.",
        discussion: """
            Deletes files of any uploader, for everyone and from every event. The files are listed before the \
            prompt, and the checksum of each is verified again right before its deletion. Requires the admin user. \
            With --yes, --file-name must match exactly one file.

            Examples:
              mediactl media delete 18 19
              mediactl media delete --event-date 2026-06-13 --org-name "The Band" --dry-run
              mediactl media delete --file-name clip.mp4
            """
    )

    @Argument(help: ArgumentHelp("IDs of the files on the server.", valueName: "id"))
    var ids: [Int64] = []

    @Option(
        help: ArgumentHelp("Delete the file with the content of this local file.", valueName: "path"),
        completion: .file()
    )
    var file: String?

    @OptionGroup(title: "Filters") var filters: MediaFilterOptions

    @Flag(name: .shortAndLong, help: "Delete without confirmation.")
    var yes = false

    @Flag(name: [.customShort("n"), .long], help: "Show what would be deleted, without deleting it.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard file == nil || filters.sha256 == nil else {
            throw ValidationError("--file cannot be combined with --sha256.")
        }
        let isFiltered = file != nil || !filters.query.isEmpty
        guard ids.isEmpty || !isFiltered else {
            throw ValidationError("IDs cannot be combined with --file or filters.")
        }
        guard !ids.isEmpty || isFiltered else {
            throw ValidationError("Specify IDs, --file or at least one filter.")
        }
        guard ids.allSatisfy({ $0 > 0 }) else { throw ValidationError("An ID must be 1 or more.") }
        guard !yes || !dryRun else { throw ValidationError("--yes cannot be combined with --dry-run.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        var query = filters.query
        if let file {
            query.checksumSHA256 = try await LocalChecksum.hex(of: file)
        }
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let confirmation = Confirmation(prompter: settings.prompter, isGiven: yes)
        if !dryRun {
            try confirmation.requireSomebody(for: "Delete these files?")
        }
        let store = try await StoreSession.open(settings)
        let session = try await MediaSession.open(
            console,
            global: global,
            connection: connection,
            credentials: credentials
        )
        let run = MediaDeletionRun(
            console: console,
            session: session,
            store: store.store,
            confirmation: confirmation,
            isDryRun: dryRun
        )
        return try await run.run(ids.isEmpty ? .matching(query) : .ids(ids.uniqued { $0 }))
    }
}
