internal import MediaTransport

/// Which profile is in use: the specified one, else the one of the server in use; where nothing specifies a server,
/// `default_profile`, else the only profile.
struct ProfileChoice {
    var flags: SettingsFlags
    var environment: [String: String]

    /// The profile in use, if any.
    ///
    /// - Parameters:
    ///   - file: The profiles to choose from.
    ///   - unselected: The settings without any profile.
    /// - Returns: Its name, and what selected it.
    /// - Throws: `SettingsError` for a name that is no profile's, and where two profiles name the server.
    func choose(from file: SettingsFile, unselected: Settings) throws(SettingsError) -> Setting<String>? {
        let variable = "MEDIACTL_PROFILE"
        if let name = flags.profile {
            return try named(name, as: "--profile", .flag, in: file)
        }
        if let name = environment[variable], !name.isEmpty {
            return try named(name, as: variable, .environment(variable), in: file)
        }
        let addresses = [
            unselected.server, unselected.uploadsURL, unselected.syncURL, unselected.captureURL, unselected.libraryURL,
        ].compactMap { $0 }
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
        let matching = file.profiles.filter { $0.value.origins.contains(origin) }.keys.sorted()
        guard matching.count < 2 else {
            throw SettingsError(
                file: file.global.file,
                key: "profiles",
                rule: "\(matching.joined(separator: " and ")) are all for \(origin)",
                hint: "choose one with --profile"
            )
        }
        return matching.first.map { Setting(value: $0, origin: server.origin) }
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

    /// The hint for a name that is not a profile.
    static func hint(for name: String, among known: [String], in file: String) -> String {
        Spelling.hint(for: name, among: known)
            ?? (known.isEmpty ? "there are no profiles in \(file)" : "known profiles: \(known.joined(separator: ", "))")
    }
}
