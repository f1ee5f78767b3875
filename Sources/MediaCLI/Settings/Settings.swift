/// Every setting of one run, each with its origin.
struct Settings: Sendable {
    /// The default server of all services; nil when nothing names one.
    var server: Setting<String>?
    /// The profile in use.
    var profile: Setting<String>?
    var user: Setting<String>?
    /// A PEM file of certificate authorities.
    var caFile: Setting<String>?
    var pinnedKey: Setting<String>?
    var insecure: Setting<Bool>
    var allowHTTP: Setting<Bool>
    var http2: Setting<Bool>
    var connectTimeout: Setting<Duration>
    var stallTimeout: Setting<Duration>
    var answerTimeout: Setting<Duration>
    var finishTimeout: Setting<Duration>
    /// Bytes a second; nil for no limit.
    var limitRate: Setting<Int64?>
    var retries: Setting<Int>
    /// The largest upload the server takes, in bytes.
    var maxBytes: Setting<Int64>
    /// Whom to ask for a manual deletion.
    var contact: Setting<String>
    var orgName: Setting<String>
    var eventType: Setting<String>
    var color: Setting<ColorMode>
    /// The command whose first line of output is the password: program and arguments, no shell. Only set when the
    /// section of the settings file that holds it is meant for the server in use.
    var passwordCommand: Setting<[String]>?
    /// Server of uploads: `uploads_url`, else `server`, of the strongest source that names either.
    var uploadsURL: Setting<String>?
    var syncURL: Setting<String>?
    var captureURL: Setting<String>?
    var libraryURL: Setting<String>?

    /// Reads the settings file, if there is one, and puts flags, `MEDIACTL_*`, profile, file and defaults together.
    ///
    /// - Throws: `SettingsError` for anything that is not exactly understood.
    static func resolve(
        flags: SettingsFlags, environment: [String: String], locations: SettingsLocations
    ) async throws(SettingsError) -> Settings {
        throw SettingsError(rule: "not implemented")
    }

    /// Name, value and origin of each setting, for `config show`. No secret is ever a setting.
    var rows: [(name: String, value: String, origin: SettingOrigin)] { [] }
}

/// When output is coloured.
enum ColorMode: String, Sendable, CaseIterable {
    case auto, always, never
}
