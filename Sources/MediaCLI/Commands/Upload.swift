internal import ArgumentParser

/// `mediactl upload PATH… | -`
struct Upload: ContextCommand {
    static let schema = "mediactl.upload/1"
    static let configuration = CommandConfiguration(
        abstract: "Upload files, and keep the tokens that take them back.",
        discussion: """
            Files are sent one after the other. A single - sends standard input under the name given with --stdin-name.
            Ctrl-C stops while bytes are being sent; after the last byte it waits for the delete token.
            """
    )

    @Argument(help: ArgumentHelp("Files to upload, or - for standard input.", valueName: "path"), completion: .file())
    var paths: [String]

    @OptionGroup(title: "Details of the files") var details: DetailOptions

    @OptionGroup(title: "Upload options") var sending: SendingOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        let inputs = paths.filter { $0 == "-" }.count
        guard inputs <= 1 else { throw ValidationError("Standard input can be uploaded once only.") }
        guard inputs == 0 || sending.stdinName != nil else {
            throw ValidationError("Standard input needs a name: --stdin-name NAME.")
        }
        guard inputs == 1 || sending.stdinName == nil else {
            throw ValidationError("--stdin-name is for standard input, and no path is -.")
        }
        guard inputs == 0 || !credentials.passwordStdin else {
            throw ValidationError("Standard input cannot be both the file and the password.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(
            console,
            global: global,
            connection: connection,
            details: details
        )
        let server = try settings.requireServer()
        let store = try await StoreSession.open(settings)
        let servers = try ServerSession(settings, credentials: credentials)
        let client = sending.dryRun ? await servers.anonymousClient(for: server) : try await servers.client(for: server)
        let run = UploadRun(
            console: console,
            settings: settings,
            store: store,
            client: client,
            request: UploadRequest(
                sources: paths.map { UploadRequest.Source(argument: $0, stdinName: sending.stdinName) },
                details: details,
                isForced: sending.force,
                isDryRun: sending.dryRun,
                writesProgressRecords: global.progressEvents
            )
        )
        return try await run.run()
    }
}
