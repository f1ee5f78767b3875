internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture

/// `mediactl hash-only settings show`
struct HashOnlySettingsShow: ContextCommand {
    static let schema = "mediactl.hash-only-settings/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show how much captures tell.",
        discussion: """
            Example:
              mediactl hash-only settings show
            """
    )

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let privacy = try settings.privacySettings()
        console.text(TextRenderer.privacy(privacy, style: console.outputStyle))
        console.summary(JSONRenderer.privacy(privacy, settings.privacyFile, changed: false))
        return console.exitCode(.success)
    }
}

extension TextRenderer {
    /// The table of `hash-only settings`, by the names that `set` takes.
    static func privacy(_ settings: PrivacySettings, style: Style) -> [String] {
        var table = Table(columns: [.init(title: "SETTING"), .init(title: "VALUE")])
        table.rows = PrivacyKey.allCases.map { [$0.rawValue, $0.value(in: settings)] }
        return table.lines(fitting: nil, style: style)
    }
}

extension JSONRenderer {
    static func privacy(_ settings: PrivacySettings, _ path: String, changed: Bool) -> JSONObject {
        [
            "path": .string(path), "privacy_mode": .bool(settings.isPrivacyModeEnabled),
            "location": .string(settings.location.rawValue), "timestamp": .string(settings.timestamp.rawValue),
            "device": .string(settings.deviceInfo.rawValue), "changed": .bool(changed), "exit_code": 0,
        ]
    }
}
