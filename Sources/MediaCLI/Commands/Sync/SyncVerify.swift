internal import ArgumentParser
internal import MediaStore
internal import PhotoSync

/// `mediactl sync verify`
struct SyncVerify: ContextCommand {
    static let schema = "mediactl.sync-verify/1"
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare server, index and local copies, and change none of them.",
        discussion: """
            The server is listed anew. Ends with 3 when there are differences.

            Examples:
              mediactl sync verify
              mediactl sync verify --read-content
            """
    )

    @Flag(help: "Read local files also where their digests are known.")
    var readContent = false

    @OptionGroup(title: "Credentials") var key: KeyOptions
    @OptionGroup(title: "Connection options") var connection: PhotoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection)
        let account = try await session.account(key)
        let run = VerifyRun(
            console: console,
            account: account,
            hashes: session.settings.hashCache(),
            readsContent: readContent,
            writesProgressRecords: global.progressEvents
        )
        return try await run.run()
    }
}
