internal import ArgumentParser
internal import CaptureSubmission
internal import HashCapture

/// `mediactl hash-only settings set KEY VALUE`
struct HashOnlySettingsSet: ContextCommand {
    static let schema = "mediactl.hash-only-settings/1"
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Change how much captures tell.",
        discussion: """
            privacy-mode  on, off: whether --send-media is refused
            location      none, coarse (city and country), precise (coordinates)
            timestamp     none, day-only, exact
            device        none, model-only, full (with the versions of system and program)

            Examples:
              mediactl hash-only settings set privacy-mode on
              mediactl hash-only settings set timestamp day-only
            """
    )

    @Argument(help: ArgumentHelp("privacy-mode, location, timestamp or device.", valueName: "key"))
    var key: PrivacyKey

    @Argument(help: ArgumentHelp("One of the values above.", valueName: "value"))
    var value: String

    @Flag(help: "Only say what would be kept.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
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
        console.summary(
            JSONRenderer.privacy(after, settings.privacyFile, changed: !dryRun && after != before)
        )
        return console.exitCode(.success)
    }
}

/// A privacy setting, by the name it has on the command line.
enum PrivacyKey: String, ExpressibleByArgument, CaseIterable {
    case privacyMode = "privacy-mode"
    case location, timestamp, device

    /// Its value, as `set` takes it.
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

    /// Sets it.
    ///
    /// - Throws: `Diagnosis` for a value that it cannot have.
    func set(_ text: String, in settings: inout PrivacySettings) throws(Diagnosis) {
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

    private func refused(_ text: String, _ choices: String) -> Diagnosis {
        .usage("\(rawValue): \(ErrorCatalogue.quoted(text)) is no value of it", hint: "use \(choices)")
    }
}
