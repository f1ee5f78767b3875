internal import ArgumentParser
internal import MediaStore

/// `mediactl uploads list`
struct UploadsList: ContextCommand {
    static let schema = "mediactl.uploads-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List what can be taken back, newest first. Asks no server.",
        discussion: """
            Examples:
              mediactl uploads list
              mediactl uploads list --all-hosts --json
            """
    )

    @OptionGroup var hosts: HostOptions

    @Flag(help: "Show the delete tokens. Whoever has one can delete the file.")
    var showToken = false

    @OptionGroup(visibility: .hidden) var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let session = try await StoreSession.open(settings)
        let entries = try session.keptUploads(host: hosts.scope)
        for entry in entries {
            console.record(.item, JSONRenderer.kept(entry, isTokenShown: showToken))
        }
        console.text(
            TextRenderer.kept(
                entries,
                now: console.context.now(),
                width: console.outputWidth,
                isTokenShown: showToken,
                style: console.outputStyle
            )
        )
        if entries.isEmpty {
            console.note(
                "nothing uploaded from here can be taken back"
                    + (hosts.scope.map { " from \(ErrorCatalogue.clean($0))" } ?? "")
            )
        }
        console.summary(["items": JSONValue(entries.count), "exit_code": 0])
        return .success
    }
}
