/// One source of settings: the text of each setting that it has, and where that stands.
struct SettingsLayer: Sendable {
    private let values: [SettingKey: String]
    private let origin: @Sendable (SettingKey) -> SettingOrigin
    /// The error for a value of this source: everything but what is wrong.
    private let blame: @Sendable (SettingKey) -> SettingsError

    /// The command line.
    init(flags: SettingsFlags) {
        values = flags.values
        origin = { _ in .flag }
        blame = { SettingsError(key: $0.flag, rule: "") }
    }

    /// The environment. An empty variable counts as absent.
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
        blame = { SettingsError(key: variable($0), rule: "") }
    }

    /// A section of the settings file.
    init(section: SettingsFile.Section) {
        values = section.values.mapValues(\.text)
        origin = { _ in section.origin }
        blame = { key in
            SettingsError(
                file: section.file,
                line: section.values[key]?.line,
                key: section.keyPrefix + key.rawValue,
                rule: ""
            )
        }
    }

    /// The value here, parsed; nil when this source has none.
    func find<Value>(
        _ key: SettingKey,
        _ parse: (String) throws(InvalidValue) -> Value
    ) throws(SettingsError) -> Setting<Value>? {
        guard let text = values[key] else { return nil }
        do {
            return Setting(value: try parse(text), origin: origin(key))
        } catch {
            var blamed = blame(key)
            blamed.value = error.isSecret ? nil : text
            blamed.rule = error.rule
            blamed.hint = error.hint
            throw blamed
        }
    }
}

extension [SettingsLayer] {
    /// The value of the strongest source that has one.
    func find<Value>(
        _ key: SettingKey,
        _ parse: (String) throws(InvalidValue) -> Value
    ) throws(SettingsError) -> Setting<Value>? {
        for layer in self {
            if let setting = try layer.find(key, parse) { return setting }
        }
        return nil
    }

    /// The address of a service: its own, or the server of all that a stronger source names.
    ///
    /// `MEDIACTL_SERVER` is the server of uploads wherever both are used: for another service it does not count against the
    /// address that a file has for just that one, or the key of the one server would go to the other.
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

/// What the command line says about settings, as text: one parser and one kind of error serve flags, environment and
/// settings file alike.
struct SettingsFlags: Sendable, Equatable {
    /// `--profile`, which selects and does not set.
    var profile: String?
    /// Old names that were used, each with its replacement.
    var deprecated: [String] = []
    private(set) var values: [SettingKey: String]

    init(_ values: [SettingKey: String?] = [:], profile: String? = nil) {
        self.profile = profile
        self.values = values.compactMapValues { $0 }
    }

    /// The text of a flag; nil where it is not given.
    subscript(key: SettingKey) -> String? {
        get { values[key] }
        set { values[key] = newValue }
    }

    /// Sets what is given.
    mutating func add(_ given: [SettingKey: String?]) {
        values.merge(given.compactMapValues { $0 }) { $1 }
    }
}

extension SettingsFlags {
    /// What the option groups say.
    init(
        global: GlobalOptions,
        connection: some ConnectionFlags,
        details: DetailOptions? = nil,
        sending: SendingFlags = SendingFlags()
    ) {
        self = connection.flags
        add([
            .color: global.color, .orgName: details?.orgName, .eventType: details?.eventType, .jobs: sending.jobs,
            .transport: sending.transport?.transport?.rawValue, .chunkSize: sending.transport?.chunkSize,
        ])
    }
}

/// Flags of commands that send, which settings know as well.
struct SendingFlags {
    var jobs: String?
    var transport: TransferOptions?
}
