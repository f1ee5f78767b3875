internal import MediaTransport

/// Which profile is in use: the named one, else the one that names the server in use.
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
        ]
        guard let server = addresses.lazy.compactMap({ $0 }).first,
            let origin = try? ServerURL(server.value, allowingPath: true).origin
        else { return nil }
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
        let known = file.profiles.keys.sorted()
        let hint =
            Spelling.hint(for: name, among: known)
            ?? (known.isEmpty
                ? "there are no profiles in \(file.global.file)" : "known profiles: \(known.joined(separator: ", "))")
        throw SettingsError(key: key, value: name, rule: "is not a profile", hint: hint)
    }
}
