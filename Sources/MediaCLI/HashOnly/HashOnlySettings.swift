internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture
internal import MediaCore

struct HashOnlySettings: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Show or change how much captures disclose.",
        discussion: """
            These settings are stored in hash-only.json next to the settings file. While that file cannot be read, \
            nothing is sent.

            Examples:
              mediactl hash-only settings show
              mediactl hash-only settings set location none
            """,
        subcommands: [HashOnlySettingsShow.self, HashOnlySettingsSet.self],
        defaultSubcommand: HashOnlySettingsShow.self
    )
}

struct HashOnlySettingsShow: ContextCommand {
    static let schema = "mediactl.hash-only-settings/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show how much captures disclose.",
        discussion: """
            Example:
              mediactl hash-only settings show
            """
    )

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let privacy = try settings.privacySettings()
        console.text(TextRenderer.privacy(privacy, style: console.outputStyle))
        return console.finish(JSONRenderer.privacy(privacy, settings.privacyFile, changed: false))
    }
}

struct HashOnlySettingsSet: ContextCommand {
    static let schema = "mediactl.hash-only-settings/1"
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change how much captures disclose.",
        discussion: """
            privacy-mode  on, off: whether --send-media is refused
            location      none, coarse (city and country), precise (coordinates)
            timestamp     none, day-only, exact
            device        none, model-only, full (with system and program versions)

            Examples:
              mediactl hash-only settings set privacy-mode on
              mediactl hash-only settings set timestamp day-only
            """
    )

    @Argument("Setting to change.", value: "key")
    var key: PrivacyKey

    @Argument("One of the values above.", value: "value")
    var value: String

    @Flag(name: .dryRun, help: "Show what would be stored, without storing it.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let before = try settings.privacySettings()
        var after = before
        try key.set(value, in: &after)
        if !dryRun, after != before {
            try after.write(to: settings.privacyFile)
        }
        console.text(TextRenderer.privacy(after, style: console.outputStyle))
        if dryRun {
            console.note("nothing was changed")
        }
        return console.finish(
            JSONRenderer.privacy(after, settings.privacyFile, changed: !dryRun && after != before)
        )
    }
}

/// The raw values are the names on the command line.
enum PrivacyKey: String, ExpressibleByArgument, CaseIterable {
    case privacyMode = "privacy-mode"
    case location, timestamp, device

    /// The value in the format that `set` accepts.
    func value(in settings: PrivacySettings) -> String {
        let raw =
            switch self {
            case .privacyMode: settings.isPrivacyModeEnabled ? "on" : "off"
            case .location: settings.location.rawValue
            case .timestamp: settings.timestamp.rawValue
            case .device: settings.deviceInfo.rawValue
            }
        return raw.replacing("_", with: "-")
    }

    func set(_ text: String, in settings: inout PrivacySettings) throws(UserFacingError) {
        let raw = text.replacing("-", with: "_")
        switch self {
        case .privacyMode:
            guard raw == "on" || raw == "off" else { throw refused(text, "on or off") }
            settings.isPrivacyModeEnabled = raw == "on"
        case .location:
            guard let level = LocationLevel(rawValue: raw) else { throw refused(text, "none, coarse or precise") }
            settings.location = level
        case .timestamp:
            guard let level = TimestampLevel(rawValue: raw) else { throw refused(text, "none, day-only or exact") }
            settings.timestamp = level
        case .device:
            guard let level = DeviceInfoLevel(rawValue: raw) else { throw refused(text, "none, model-only or full") }
            settings.deviceInfo = level
        }
    }

    private func refused(_ text: String, _ choices: String) -> UserFacingError {
        .usage("\(rawValue): \(ErrorCatalog.quoted(text)) is not a valid value", hint: "use \(choices)")
    }
}

extension JSONRenderer {
    static func privacy(_ settings: PrivacySettings, _ path: String, changed: Bool) -> JSONObject {
        [
            "path": .string(path), "privacy_mode": .bool(settings.isPrivacyModeEnabled),
            "location": .string(settings.location.rawValue), "timestamp": .string(settings.timestamp.rawValue),
            "device": .string(settings.deviceInfo.rawValue), "changed": .bool(changed),
        ]
    }
}

extension TextRenderer {
    static func privacy(_ settings: PrivacySettings, style: Style) -> [String] {
        Table(columns: [.init(title: "SETTING"), .init(title: "VALUE")])
            .rows(for: PrivacyKey.allCases) { [$0.rawValue, $0.value(in: settings)] }
            .lines(fitting: nil, style: style)
    }
}
