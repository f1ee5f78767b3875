internal import MediaTransport

/// The settings that apply to one server: only those that were specified for it.
///
/// Credentials and TLS settings belong to the origin for which they were specified. An origin from the store, the
/// journal, a report or an import does not use the settings of a different origin.
struct ServerSettings: Sendable {
    /// Whether `MEDIACTL_PASSWORD`, `MEDIACTL_API_KEY` and their files apply to this server.
    var takesEnvironment = false
    /// Whether this is the command's server. If so, credential flags and a `default` entry in netrc apply as well.
    var isTarget = false
    var user: Setting<String>?
    /// Program and arguments, run without a shell. Its first line of output is the password.
    var passwordCommand: Setting<[String]>?
    var caFile: Setting<String>?
    var pinnedKey: Setting<String>?
    var insecure = Setting(default: false)
    var allowHTTP = Setting(default: false)

    var trust: ServerTrust {
        ServerTrust(caFile: caFile?.value, pinnedKey: pinnedKey?.value, insecure: insecure.value)
    }
}

struct ServerSource: Sendable {
    enum Scope: Sendable, Equatable {
        /// The command's servers.
        case target
        /// The server in `MEDIACTL_SERVER` or the variable of the service; if neither is set, the command's servers.
        case environment
        /// The servers in a section of the settings file; if it has none, the command's servers.
        case section(Set<Origin>)
    }

    var layer: SettingsLayer
    var scope: Scope
    var section: SettingsFile.Section?
}

extension ServerSource {
    init(section: SettingsFile.Section) {
        self.init(layer: SettingsLayer(section: section), scope: .section(section.origins), section: section)
    }
}

extension Settings {
    /// The settings from sources that apply to the origin. `service` is one of `SettingKey.services`. `named` are
    /// servers specified by the command in addition to the configured one, such as the server in an event link.
    ///
    /// - Throws: `SettingsError` if two profiles have this server and neither is in use.
    func server(
        _ origin: Origin,
        of service: SettingKey,
        named: Set<Origin> = []
    ) throws(SettingsError) -> ServerSettings {
        let isTarget = target(of: service) == origin || named.contains(origin)
        let home = try environmentOrigin(of: service)
        var bound = sources.filter { source in
            switch source.scope {
            case .target: isTarget
            case .environment: home.map { $0 == origin } ?? isTarget
            case .section(let origins): origins.isEmpty ? isTarget : origins.contains(origin)
            }
        }
        if let profile = try profile(for: origin) { bound.append(ServerSource(section: profile)) }
        let layers = bound.map(\.layer)
        // CA certificates in a section without a server apply to all servers.
        let authorities = sources.filter { $0.scope == .section([]) }.map(\.layer)
        return ServerSettings(
            takesEnvironment: bound.contains { $0.scope == .environment },
            isTarget: isTarget,
            user: try layers.find(.user, SettingValue.text),
            passwordCommand: bound.compactMap(\.section).first(\.passwordCommand),
            caFile: try (layers + authorities).find(.caFile, SettingValue.text),
            pinnedKey: try layers.find(.pinnedKey, SettingValue.pin),
            insecure: try layers.find(.insecure, SettingValue.boolean) ?? Setting(default: false),
            allowHTTP: try layers.find(.allowHTTP, SettingValue.boolean) ?? Setting(default: false)
        )
    }

    func target(of service: SettingKey) -> Origin? {
        addresses[service].flatMap { try? ServerURL($0.value, allowingPath: true).origin }
    }

    /// The server to which secrets in the environment apply; nil if the environment specifies none.
    private func environmentOrigin(of service: SettingKey) throws(SettingsError) -> Origin? {
        guard let layer = sources.first(where: { $0.scope == .environment })?.layer else { return nil }
        let own = try layer.find(service, SettingValue.addressBelowPath)
        let general = try layer.find(.server, SettingValue.addressBelowPath)
        return (own ?? general).flatMap { try? ServerURL($0.value, allowingPath: true).origin }
    }

    /// The profile of a server, unless a section in use is for that server.
    private func profile(for origin: Origin) throws(SettingsError) -> SettingsFile.Section? {
        let isCovered = sources.contains { source in
            if case .section(let origins) = source.scope { origins.contains(origin) } else { false }
        }
        guard !isCovered else { return nil }
        return try otherProfiles.only(for: origin)?.value
    }
}

extension [String: SettingsFile.Section] {
    /// The only profile with this server.
    ///
    /// - Throws: `SettingsError` if there are several.
    fileprivate func only(for origin: Origin) throws(SettingsError) -> Element? {
        let matching = filter { $0.value.origins.contains(origin) }
        guard matching.count < 2 else {
            throw SettingsError(
                file: matching.values.first?.file,
                key: "profiles",
                rule: "\(matching.keys.sorted().joined(separator: " and ")) are all for \(origin)",
                hint: "choose one with --profile"
            )
        }
        return matching.first
    }
}

/// Determines the profile in use: the specified profile; otherwise `default_profile`, if neither the command line nor
/// the environment specifies a server; otherwise the profile of the server in use, or the only profile if there is no
/// server.
struct ProfileChoice {
    var flags: SettingsFlags
    var environment: [String: String]

    /// The profile in use, if any, with the source that selected it. `unselected` are the settings without a profile.
    ///
    /// - Throws: `SettingsError` for an unknown profile, or if two profiles have the server.
    func choose(from file: SettingsFile, unselected: Settings) throws(SettingsError) -> Setting<String>? {
        let variable = "MEDIACTL_PROFILE"
        if let name = flags.profile {
            return try named(name, as: "--profile", .flag, in: file)
        }
        if let name = environment[variable], !name.isEmpty {
            return try named(name, as: variable, .environment(variable), in: file)
        }
        let addresses = ([unselected.server] + SettingKey.services.map { unselected.addresses[$0] }).compactMap { $0 }
        if let name = file.defaultProfile, addresses.allSatisfy({ $0.origin == file.global.origin }) {
            return Setting(value: name, origin: file.global.origin)
        }
        guard let server = addresses.first else {
            guard file.profiles.count == 1, let only = file.profiles.first, !only.value.origins.isEmpty else {
                return nil
            }
            return Setting(value: only.key, origin: file.global.origin)
        }
        guard let origin = try? ServerURL(server.value, allowingPath: true).origin else { return nil }
        return try file.profiles.only(for: origin).map { Setting(value: $0.key, origin: server.origin) }
    }

    private func named(
        _ name: String,
        as key: String,
        _ origin: SettingOrigin,
        in file: SettingsFile
    ) throws(SettingsError) -> Setting<String> {
        guard file.profiles[name] == nil else { return Setting(value: name, origin: origin) }
        let hint = Self.hint(for: name, among: file.profiles.keys.sorted(), in: file.global.file)
        throw SettingsError(key: key, value: name, rule: "is not a profile", hint: hint)
    }

    static func hint(for name: String, among known: [String], in file: String) -> String {
        Spelling.hint(for: name, among: known)
            ?? (known.isEmpty ? "no profiles in \(file)" : "known profiles: \(known.joined(separator: ", "))")
    }
}
