internal import ArgumentParser
internal import MediaStore

/// `mediactl logout`
struct LogOut: ContextCommand {
    static let schema = "mediactl.logout/1"
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Forget the API key of a photo server. Asks no server.",
        discussion: """
            The key stays valid, and this machine stays a device there; a later login makes it the same device again. \
            Without a login there is nothing to forget, which is done as well.

            Example:
              mediactl logout --server https://photos.example.org
            """
    )

    @Flag(help: "Only say what would be forgotten.")
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
            console.text([dryRun ? "the key for \(words) would be forgotten" : "forgot the key for \(words)"])
        }
        console.summary([
            "server": .string(server), "dry_run": .bool(dryRun), "was_logged_in": .bool(session.login != nil),
            "removed": .bool(isRemoved), "exit_code": 0,
        ])
        return .success
    }
}
