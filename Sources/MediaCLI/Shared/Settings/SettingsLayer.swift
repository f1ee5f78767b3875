internal import GigHive

/// One source of settings: the text of each setting in it, and where it is located.
struct SettingsLayer: Sendable {
    private let values: [SettingKey: String]
    private let origin: @Sendable (SettingKey) -> SettingOrigin
    /// The error for a value from this source, without the rule.
    private let locate: @Sendable (SettingKey) -> SettingsError

    init(flags: SettingsFlags) {
        values = flags.values
        origin = { _ in .flag }
        locate = { SettingsError(key: $0.flag, rule: "") }
    }

    /// An empty variable is treated as not set.
    init(environment: [String: String]) {
        let environment = environment.filter { !$0.value.isEmpty }
        let variable = { @Sendable (key: SettingKey) -> String in
            guard environment[key.environmentVariable] == nil, let old = key.deprecatedVariable,
                environment[old] != nil
            else { return key.environmentVariable }
            return old
        }
        values = SettingKey.allCases.reduce(into: [:]) { $0[$1] = environment[variable($1)] }
        origin = { .environment(variable($0)) }
        locate = { SettingsError(key: variable($0), rule: "") }
    }

    init(section: SettingsFile.Section) {
        values = section.values.mapValues(\.text)
        origin = { _ in section.origin }
        locate = { key in
            SettingsError(
                file: section.file,
                line: section.values[key]?.line,
                key: section.keyPrefix + key.rawValue,
                rule: ""
            )
        }
    }

    /// The parsed value; nil if this source does not contain the setting.
    func find<Value>(
        _ key: SettingKey,
        _ parse: (String) throws(InvalidValue) -> Value
    ) throws(SettingsError) -> Setting<Value>? {
        guard let text = values[key] else { return nil }
        do {
            return Setting(value: try parse(text), origin: origin(key))
        } catch {
            var located = locate(key)
            located.value = error.isSecret ? nil : text
            located.rule = error.rule
            located.hint = error.hint
            throw located
        }
    }
}

extension [SettingsLayer] {
    /// The value from the source with the highest precedence that has one.
    func find<Value>(
        _ key: SettingKey,
        _ parse: (String) throws(InvalidValue) -> Value
    ) throws(SettingsError) -> Setting<Value>? {
        for layer in self {
            if let setting = try layer.find(key, parse) { return setting }
        }
        return nil
    }

    /// The address of a service: its own, or `server` from a source with higher precedence.
    ///
    /// `MEDIACTL_SERVER` does not override a service's own address in a file, except that of the upload server: the
    /// variable then specifies the upload server, and the key for the service would otherwise be sent there.
    func findAddress<Value>(
        _ own: SettingKey,
        _ parse: (String) throws(InvalidValue) -> Value
    ) throws(SettingsError) -> Setting<Value>? {
        for layer in self {
            if let setting = try layer.find(own, parse) { return setting }
            guard let server = try layer.find(.server, parse) else { continue }
            if case .environment = server.origin, own != .uploadsURL { continue }
            break
        }
        return try find(.server, parse)
    }
}

/// The settings on the command line, as text: flags, environment and settings file share one parser and one error type.
struct SettingsFlags: Sendable, Equatable, ConnectionFlags {
    /// `--profile`, which selects settings but is not a setting.
    var profile: String?
    /// Notes about deprecated names, with their replacements.
    var deprecated: [String] = []
    private(set) var values: [SettingKey: String]

    init(_ values: [SettingKey: String?] = [:], profile: String? = nil) {
        self.profile = profile
        self.values = values.compactMapValues { $0 }
    }

    /// The flags that were given, such as `--server`.
    var names: Set<String> { Set(values.keys.map(\.flag) + (profile == nil ? [] : ["--profile"])) }

    var flags: SettingsFlags { self }

    /// nil if the flag was not given.
    subscript(key: SettingKey) -> String? {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// Merges two sets of flags; the values on the right take precedence.
    static func + (left: SettingsFlags, right: SettingsFlags) -> SettingsFlags {
        var sum = left
        sum.profile = right.profile ?? left.profile
        sum.deprecated += right.deprecated
        sum.values.merge(right.values) { $1 }
        return sum
    }
}
