internal import MediaTransport

/// What may be used for one server: only what was given for it.
///
/// Credentials, and settings that decide whom to trust, belong to the origin that they were given for. An origin that comes
/// from the store, the journal, a report or an import gets nothing that was given for another one.
struct ServerSettings: Sendable {
    /// Whether flags about credentials are for this server.
    var takesFlags = false
    /// Whether `MEDIACTL_PASSWORD`, `MEDIACTL_API_KEY` and their files are for this server.
    var takesEnvironment = false
    /// Whether this is the server that the command is for: then a netrc entry for any host will do as well.
    var isTarget = false
    var user: Setting<String>?
    /// The command whose first line of output is the password: program and arguments, no shell.
    var passwordCommand: Setting<[String]>?
    var caFile: Setting<String>?
    var pinnedKey: Setting<String>?
    var insecure = Setting(value: false, origin: SettingOrigin.builtIn)
    var allowHTTP = Setting(value: false, origin: SettingOrigin.builtIn)

    /// How the server is checked.
    var trust: ServerTrust {
        ServerTrust(caFile: caFile?.value, pinnedKey: pinnedKey?.value, insecure: insecure.value)
    }
}

/// One source of settings, and the servers it speaks for.
struct ServerSource: Sendable {
    enum Scope: Sendable, Equatable {
        /// The servers that the command is for.
        case target
        /// `MEDIACTL_SERVER`, or the variable of the one service; without either the servers that the command is for.
        case environment
        /// The servers of a section of the settings file; without any the servers that the command is for.
        case section(Set<Origin>)
    }

    var layer: SettingsLayer
    var scope: Scope
    var section: SettingsFile.Section?

    init(flags: SettingsFlags) {
        layer = SettingsLayer(flags: flags)
        scope = .target
    }

    init(environment: [String: String]) {
        layer = SettingsLayer(environment: environment)
        scope = .environment
    }

    init(section: SettingsFile.Section) {
        layer = SettingsLayer(section: section)
        scope = .section(section.origins)
        self.section = section
    }
}

extension Settings {
    /// What may be used for a server.
    ///
    /// - Parameters:
    ///   - origin: The server that is asked.
    ///   - service: The address of what is asked: `.uploadsURL`, `.syncURL`, `.captureURL` or `.libraryURL`.
    ///   - named: Servers that this command names besides its configured one, such as that of an event link.
    /// - Returns: The settings whose source is bound to the origin.
    /// - Throws: `SettingsError` for two profiles of the same server, neither of which is in use.
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
        // Authorities are general where no server stands beside them.
        let authorities = sources.filter { $0.scope == .section([]) }.map(\.layer)
        return ServerSettings(
            takesFlags: isTarget,
            takesEnvironment: bound.contains { $0.scope == .environment },
            isTarget: isTarget,
            user: try layers.find(.user, SettingValue.text),
            passwordCommand: bound.lazy.compactMap { source in
                source.section.flatMap { section in
                    section.passwordCommand.map { Setting(value: $0, origin: section.origin) }
                }
            }.first,
            caFile: try (layers + authorities).find(.caFile, SettingValue.text),
            pinnedKey: try layers.find(.pinnedKey, SettingValue.pin),
            insecure: try layers.find(.insecure, or: false, SettingValue.boolean),
            allowHTTP: try layers.find(.allowHTTP, or: false, SettingValue.boolean)
        )
    }

    /// The server that a command of this service is for; nil when nothing names one.
    func target(of service: SettingKey) -> Origin? {
        let address =
            switch service {
            case .syncURL: syncURL
            case .captureURL: captureURL
            case .libraryURL: libraryURL
            default: uploadsURL
            }
        return address.flatMap { try? ServerURL($0.value, allowingPath: true).origin }
    }

    /// The server that secrets of the environment are for; nil when the environment names none.
    private func environmentOrigin(of service: SettingKey) throws(SettingsError) -> Origin? {
        guard let layer = sources.first(where: { $0.scope == .environment })?.layer else { return nil }
        let own = try layer.find(service, SettingValue.addressBelowPath)
        let general = try layer.find(.server, SettingValue.addressBelowPath)
        return (own ?? general).flatMap { try? ServerURL($0.value, allowingPath: true).origin }
    }

    /// The profile of a server that no source in use speaks for.
    private func profile(for origin: Origin) throws(SettingsError) -> SettingsFile.Section? {
        let isCovered = sources.contains { source in
            if case .section(let origins) = source.scope { origins.contains(origin) } else { false }
        }
        guard !isCovered else { return nil }
        let matching = otherProfiles.filter { $0.value.origins.contains(origin) }
        guard matching.count < 2 else {
            throw SettingsError(
                file: matching.values.first?.file,
                key: "profiles",
                rule: "\(matching.keys.sorted().joined(separator: " and ")) are all for \(origin)",
                hint: "choose one with --profile"
            )
        }
        return matching.values.first
    }
}
