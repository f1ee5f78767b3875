internal import ArgumentParser
internal import MediaCore

/// `mediactl config show`
struct ConfigShow: ContextCommand {
    static let schema = "mediactl.config-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show every setting, its value and its source. No secret is a setting.",
        discussion: """
            Example:
              mediactl config show --profile stage
            """
    )

    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SettingsSession.open(console, global: global, connection: connection)
        let rows = session.rows
        for row in rows {
            console.record(.item, JSONRenderer.setting(row))
        }
        console.text(TextRenderer.settings(rows, width: console.outputWidth, style: console.outputStyle))
        console.summary(["items": JSONValue(rows.count), "exit_code": 0])
        return .success
    }
}
