internal import ArgumentParser

/// `mediactl tapes library status`
struct TapesLibraryStatus: ContextCommand {
    static let schema = "mediactl.tapes-library-status/1"
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which library it is, and what it allows. Changes nothing.",
        discussion: """
            adding is what add needs; changing is what --verify, album link, and deleting albums need.

            Example:
              mediactl tapes library status
            """
    )

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        return try await LibraryRun(session: session, service: try await session.service(connection.key)).status()
    }
}
