internal import ArgumentParser
internal import GigHive
internal import MediaStore
internal import MediaTransport

/// `mediactl uploads import FILE|-`
struct UploadsImport: ContextCommand {
    static let schema = "mediactl.uploads-import/1"
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import delete tokens from an export, or from the upload page in a browser.",
        discussion: """
            Importing twice changes nothing. If a file has two tokens, both are kept; the newer one is used. Entries \
            deleted or removed on this machine stay removed.
            The upload page stores tokens in the browser's local storage under uploader_delete_tokens_v1, without the \
            server, so --server is required. Checksums and events come from the server; tokens of files that it does \
            not have are not imported.

            Examples:
              mediactl uploads import tokens.jsonl
              mediactl uploads import --web tokens.json --server https://gighive.example
            """
    )

    @Argument(help: ArgumentHelp("The exported file; - for standard input.", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "The file contains the tokens of the server's upload page (default: detected).")
    var web = false

    @Flag(help: "Show what would be imported, without importing it.")
    var dryRun = false

    @OptionGroup(title: "Credentials (for --web)") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options (for --web)") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard file != "" else { throw ValidationError("An empty path.") }
        guard file != "-" || !credentials.passwordStdin else {
            throw ValidationError("Standard input cannot be both the file and the password.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        // The whole file is understood before the first entry is stored.
        let content = try ImportFile.content(of: file, standardInput: console.context.standardInput, isWeb: web)
        switch content {
        case .export(var reader):
            guard !hasCredentials else {
                throw Diagnosis.usage(
                    "importing an export does not use a login",
                    hint: "omit the password and key options"
                )
            }
            let session = try await StoreSession.open(settings)
            let tally = ImportTally(try session.store.addPages(isDryRun: dryRun) { try reader.nextPage() })
            console.text([tally.text(isDryRun: dryRun)])
            console.summary(tally.members(isDryRun: dryRun))
            return .success
        case .web(let tokens):
            let server = try namedServer(settings)
            let session = try await StoreSession.open(settings)
            let client = try await ServerSession(settings, credentials: credentials).client(for: server)
            let run = WebImportRun(console: console, client: client, store: session.store, isDryRun: dryRun)
            return try await run.run(tokens)
        }
    }

    private var hasCredentials: Bool {
        credentials.passwordStdin || credentials.passwordFile != nil || credentials.apiKeyFile != nil
    }

    /// The server of the upload page. A default server may be a different one, and would get the tokens at a deletion.
    private func namedServer(_ settings: SettingsSession) throws -> ServerURL {
        guard connection.choice.server != nil || connection.choice.named.profile != nil else {
            throw Diagnosis.usage(
                "the tokens of an upload page do not include the server",
                hint:
                    "mediactl uploads import --web \(file == "-" ? "-" : ErrorCatalogue.quoted(RawArguments.bytes(of: file))) "
                    + "--server https://HOST"
            )
        }
        return try settings.requireServer()
    }
}
