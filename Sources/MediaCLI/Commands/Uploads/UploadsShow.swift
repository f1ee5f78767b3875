internal import ArgumentParser
internal import GigHive
internal import MediaCore
internal import MediaStore

/// `mediactl uploads show ID`
struct UploadsShow: ContextCommand {
    static let schema = "mediactl.uploads-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show all stored details of an upload. Sends nothing.",
        discussion: """
            Example:
              mediactl uploads show 18
            """
    )

    @Argument(help: ArgumentHelp("ID of the file on the server.", valueName: "id"))
    var id: Int64

    @Option(
        help: ArgumentHelp("Only the file on this host (with :PORT when it is not the default).", valueName: "host")
    )
    var host: String?

    @Flag(help: "Show the delete token. Anyone who has it can delete the file.")
    var showToken = false

    @OptionGroup(visibility: .hidden) var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let session = try await StoreSession.open(settings, for: .reading)
        let entries = try session.keptUploads(host: host?.lowercased(), fileID: id)
        guard !entries.isEmpty else {
            throw GigHiveError.withoutToken(id, host: host?.lowercased(), in: session.store)
        }
        for (index, entry) in entries.enumerated() {
            console.record(.item, JSONRenderer.kept(entry, isTokenShown: showToken))
            console.text(
                (index == 0 ? [] : [""])
                    + TextRenderer.kept(
                        entry,
                        now: console.context.now(),
                        isTokenShown: showToken,
                        style: console.outputStyle
                    )
            )
        }
        console.summary(["items": JSONValue(entries.count), "exit_code": 0])
        return .success
    }
}
