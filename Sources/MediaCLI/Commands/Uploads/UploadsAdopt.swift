internal import ArgumentParser
internal import GigHive
internal import MediaTransport

/// `mediactl uploads adopt [FILE|ID]`
struct UploadsAdopt: ContextCommand {
    static let schema = "mediactl.uploads-adopt/1"
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Store the delete token of a kept response, or one typed by hand. Sends nothing.",
        discussion: """
            Without a response, the token is read from the terminal without echo, or from standard input with \
            --token-stdin; --file-id and --server are then required. The token is stored as given: only a deletion \
            shows whether the server accepts it.

            Examples:
              mediactl uploads adopt r-5f0c21ab
              mediactl uploads adopt response.txt --server https://gighive.example
              mediactl uploads adopt --file-id 18 --server https://gighive.example
            """
    )

    @Argument(
        help: ArgumentHelp(
            "A response of mediactl uploads responses, or a file that contains one.",
            valueName: "response"
        ),
        completion: .file()
    )
    var response: String?

    @Option(help: ArgumentHelp("ID of the file on the server (default: from the response).", valueName: "id"))
    var fileID: Int64?

    @Flag(help: "Read the token from standard input.")
    var tokenStdin = false

    @Flag(help: "Show what would be stored, without storing it.")
    var dryRun = false

    @OptionGroup(title: "Server") var connection: ServerChoiceOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard response != "" else { throw ValidationError("An empty path.") }
        guard fileID.map({ $0 > 0 }) ?? true else { throw ValidationError("An ID must be 1 or more.") }
        guard response != nil || fileID != nil else {
            throw ValidationError("Specify a response, or --file-id for a token typed by hand.")
        }
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let session = try await StoreSession.open(settings)
        let run = AdoptRun(console: console, settings: settings, session: session)
        // A default server may be a different one, and would get the token at a deletion.
        let isNamed = connection.choice.server != nil || connection.choice.named.profile != nil
        return try await run.run(
            response: response,
            fileID: fileID,
            isTyped: tokenStdin || response == nil,
            readsStandardInput: tokenStdin,
            server: isNamed ? try settings.requireServer() : nil,
            isDryRun: dryRun
        )
    }
}
