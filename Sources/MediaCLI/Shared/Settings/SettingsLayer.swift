internal import Configuration

/// One source of settings. The look-up is swift-configuration's; the place in the file is ours, because its providers
/// know no lines.
struct SettingsLayer: Sendable {
    private let provider: any ConfigProvider
    /// What the provider calls a setting.
    private let name: @Sendable (SettingKey) -> String
    private let origin: @Sendable (SettingKey) -> SettingOrigin
    /// The error for a value of this source: everything but what is wrong.
    private let blame: @Sendable (SettingKey) -> SettingsError

    /// The command line.
    init(flags: SettingsFlags) {
        provider = Self.provider(of: flags.values)
        name = \.rawValue
        origin = { _ in .flag }
        blame = { SettingsError(key: $0.flag, rule: "") }
    }

    /// The environment. An empty variable counts as absent.
    init(environment: [String: String]) {
        let environment = environment.filter { !$0.value.isEmpty }
        provider = EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "mediactl")
        let variable = { @Sendable (key: SettingKey) -> String in
            guard environment[key.environmentVariable] == nil, let old = key.deprecatedVariable,
                environment[old] != nil
            else { return key.environmentVariable }
            return old
        }
        // The provider puts a prefix and capitals to it.
        name = { String(variable($0).dropFirst("MEDIACTL_".count)).lowercased() }
        origin = { .environment(variable($0)) }
        blame = { SettingsError(key: variable($0), rule: "") }
    }

    /// A section of the settings file.
    init(section: SettingsFile.Section) {
        provider = Self.provider(of: section.values.mapValues(\.text))
        name = \.rawValue
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
        guard let text = text(key) else { return nil }
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

    private func text(_ key: SettingKey) -> String? {
        // Values are held as text, which every provider converts to text without failing.
        let result = try? provider.value(forKey: AbsoluteConfigKey([name(key)]), type: .string)
        guard case .string(let text)? = result?.value?.content else { return nil }
        return text
    }

    private static func provider(of values: [SettingKey: String]) -> InMemoryProvider {
        let pairs = values.map {
            (AbsoluteConfigKey([$0.key.rawValue]), ConfigValue(.string($0.value), isSecret: false))
        }
        return InMemoryProvider(values: Dictionary(uniqueKeysWithValues: pairs))
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

    /// The same, with a default.
    func find<Value>(
        _ key: SettingKey,
        or builtIn: Value,
        _ parse: (String) throws(InvalidValue) -> Value
    ) throws(SettingsError) -> Setting<Value> {
        try find(key, parse) ?? Setting(value: builtIn, origin: .builtIn)
    }
}

/// What the command line says about settings; nil where it says nothing.
///
/// Numbers, durations and rates stay text here, so that one parser and one kind of error serve flags, environment and
/// settings file alike.
struct SettingsFlags: Sendable, Equatable {
    var server: String?
    var profile: String?
    var user: String?
    var caFile: String?
    var pinnedKey: String?
    var insecure: Bool?
    var allowHTTP: Bool?
    var http2: Bool?
    var connectTimeout: String?
    var stallTimeout: String?
    var responseTimeout: String?
    /// The old name of `responseTimeout`.
    var answerTimeout: String?
    var finishTimeout: String?
    var settleTimeout: String?
    var limitRate: String?
    var retries: String?
    var color: String?
    var orgName: String?
    var eventType: String?
    var jobs: String?
    var transport: String?
    var chunkSize: String?
    var captureProfile: String?
    var libraryURL: String?
    var albumsLibrary: String?

    /// The given flags, except `--profile`, which selects and does not set.
    var values: [SettingKey: String] {
        let all: [SettingKey: String?] = [
            .server: server, .user: user, .caFile: caFile, .pinnedKey: pinnedKey,
            .insecure: insecure.map(String.init), .allowHTTP: allowHTTP.map(String.init),
            .http2: http2.map(String.init), .connectTimeout: connectTimeout, .stallTimeout: stallTimeout,
            .responseTimeout: responseTimeout ?? answerTimeout, .finishTimeout: finishTimeout,
            .settleTimeout: settleTimeout, .limitRate: limitRate, .retries: retries, .color: color,
            .orgName: orgName, .eventType: eventType, .jobs: jobs, .transport: transport, .chunkSize: chunkSize,
            .captureProfile: captureProfile, .libraryURL: libraryURL, .albumsLibrary: albumsLibrary,
        ]
        return all.compactMapValues { $0 }
    }
}

extension SettingsFlags {
    /// What the option groups say, where nothing is said nil.
    init(
        global: GlobalOptions,
        connection: some ConnectionFlags,
        details: DetailOptions? = nil,
        sending: SendingFlags = SendingFlags()
    ) {
        self = connection.flags
        color = global.color
        orgName = details?.orgName
        eventType = details?.eventType
        jobs = sending.jobs
        transport = sending.transport?.transport?.rawValue
        chunkSize = sending.transport?.chunkSize
    }
}

/// Flags of commands that send, which settings know as well.
struct SendingFlags {
    var jobs: String?
    var transport: TransferOptions?
}
