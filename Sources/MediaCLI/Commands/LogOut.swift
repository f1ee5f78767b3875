internal import ArgumentParser
internal import MediaStore

/// `mediactl logout`
struct LogOut: ContextCommand {
    static let schema = "mediactl.logout/1"
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Delete the stored API key of a photo server. Sends nothing.",
        discussion: """
            The key stays valid, and this machine stays registered; a later login uses the same device again. \
            Without a login, the command does nothing and succeeds.

            Example:
              mediactl logout --server https://photos.example.org
            """
    )

    @Flag(help: "Show what would be deleted, without deleting it.")
    var dryRun = false

    @OptionGroup(title: "Connection options") var connection: PhotoServerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SyncSession.open(console, global, connection)
        try console.requireOutput()
        let server = session.address
        let isRemoved = dryRun ? false : try session.library.removeLogin(for: server)
        let words = ErrorCatalogue.clean(server)
        if session.login == nil {
            console.text(["not logged in to \(words)"])
        } else {
            console.text([dryRun ? "the key for \(words) would be deleted" : "deleted the key for \(words)"])
        }
        console.summary([
            "server": .string(server), "dry_run": .bool(dryRun), "was_logged_in": .bool(session.login != nil),
            "removed": .bool(isRemoved), "exit_code": 0,
        ])
        return .success
    }
}
