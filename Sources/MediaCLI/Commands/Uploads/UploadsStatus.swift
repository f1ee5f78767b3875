internal import ArgumentParser
internal import MediaCore

/// `mediactl uploads status`
struct UploadsStatus: ContextCommand {
    static let schema = "mediactl.uploads-status/1"
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show unfinished uploads and check their status with the server.",
        discussion: """
            Example:
              mediactl uploads status
            """
    )

    @Option(help: ArgumentHelp("Only uploads to this host (with :PORT when it is not the default).", valueName: "host"))
    var host: String?

    @Flag(help: "Show the local status only, without querying servers.")
    var dryRun = false

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let store = try await StoreSession.open(settings)
        let run = StatusRun(
            console: console,
            settings: settings,
            store: store,
            servers: try ServerSession(settings, credentials: credentials),
            isAsking: !dryRun
        )
        let rows = try await run.rows(host: host?.lowercased())
        for row in rows {
            console.record(.item, JSONRenderer.journal(row))
        }
        console.text(
            TextRenderer.journal(
                rows,
                now: console.context.now(),
                width: console.outputWidth,
                style: console.outputStyle
            )
        )
        for diagnosis in rows.compactMap(\.diagnosis) {
            console.error(diagnosis)
        }
        for next in rows.compactMap(\.next).prefix(3) where !console.isJSON {
            console.note("next: \(next)")
        }
        let resumable = rows.count(where: \.isResumable)
        if resumable > 1, !console.isJSON {
            console.note("\(resumable) uploads can be resumed: mediactl uploads resume --all")
        }
        if rows.isEmpty {
            console.note("no unfinished uploads")
        }
        let code = ExitCode.batch(rows.map(\.exitCode))
        console.summary([
            "items": JSONValue(rows.count), "resumable": JSONValue(resumable), "exit_code": JSONRenderer.exitCode(code),
        ])
        return code
    }
}
