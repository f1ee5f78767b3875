internal import ArgumentParser
internal import MediaCore

struct Config: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Show settings, and where they come from.",
        discussion: """
            Examples:
              mediactl config show
              mediactl config show --profile stage
            """,
        subcommands: [ConfigShow.self]
    )
}

struct ConfigShow: ContextCommand {
    static let schema = "mediactl.config-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show every setting with its value and source. Settings contain no secrets.",
        discussion: """
            Example:
              mediactl config show --profile stage
            """
    )

    @OptionGroup(title: "Connection options") var connection: UploadConnectionOptions<ConnectionOptions>
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await SettingsSession.open(console, global: global, connection: connection)
        let rows = session.rows
        console.records(.item, rows.map { JSONRenderer.setting($0) })
        console.table(TextRenderer.settings(rows))
        return console.finish(["items": JSONValue(rows.count)])
    }
}

extension JSONRenderer {
    static func setting(_ row: Settings.Row) -> JSONObject {
        ["name": .string(row.name), "value": .string(row.value), "source": .string(row.origin.description)]
    }
}

extension TextRenderer {
    static func settings(_ rows: [Settings.Row]) -> Table {
        Table(columns: [
            .init(title: "SETTING"), .init(title: "VALUE", isFlexible: true, minimumWidth: 12),
            .init(title: "SOURCE", isFlexible: true, minimumWidth: 12, dropOrder: 1),
        ])
        .rows(for: rows) { row in
            // JSON records contain the number of bytes instead.
            let size = SettingKey.sizes.contains { $0.rawValue == row.name } ? Int64(row.value) : nil
            let value = size.map(SettingValue.sizeText) ?? row.value
            return [row.name, value, row.origin.description].map { TerminalText.escaped($0) }
        }
    }
}
