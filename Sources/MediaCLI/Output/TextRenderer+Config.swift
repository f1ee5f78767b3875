internal import MediaCore
internal import MediaFiles

/// What `config show` says on standard output.
extension TextRenderer {
    static func settings(_ rows: [SettingsSession.Row], width: Int?, style: Style) -> [String] {
        var table = Table(columns: [
            .init(title: "SETTING"), .init(title: "VALUE", isFlexible: true, minimumWidth: 12),
            .init(title: "SOURCE", isFlexible: true, minimumWidth: 12, dropOrder: 1),
        ])
        table.rows = rows.map {
            [TerminalText.escaped($0.name), TerminalText.escaped($0.value), TerminalText.escaped($0.source)]
        }
        return table.lines(fitting: width, style: style)
    }
}
