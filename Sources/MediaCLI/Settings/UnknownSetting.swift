/// A name in the settings file, or an environment variable, that is no setting.
///
/// It is passed over with a warning: a file is shared by versions and machines, and a slip in the name of a time-out is no
/// reason to do nothing. What is refused instead is a name that may have been meant to protect: a run without the pin, with
/// the password over plain http, to another server or with more of a capture told than the user wrote down must not begin
/// because of a slip (docs/adr/0023-unknown-settings.md). Values are never repeated: they may be secrets.
struct UnknownSetting: Sendable {
    /// Where it stands, and its name as the user wrote it.
    var place: SettingsError
    /// Its name without the names around it.
    var name: String

    /// Settings without which a run would be less safe, or tell, send or delete something else than was written down.
    static let protecting: Set<SettingKey> = [
        .server, .uploadsURL, .syncURL, .captureURL, .libraryURL, .caFile, .pinnedKey, .insecure, .allowHTTP,
        .captureProfile, .captureRPID, .albumsEnabled, .albumsLibrary, .albumsUpload, .deleteAssociatedAlbum,
    ]

    /// Words that other programs use for such settings.
    private static let protectingWords: Set<Substring> = [
        "ca", "cafile", "capath", "cert", "certs", "certificate", "certificates", "https", "key", "keys", "pin",
        "pinned", "pinning",
        "pins",
        "privacy", "profile", "profiles", "secure", "security", "ssl", "tls", "trust", "trusted", "vault",
        "verification", "verify",
    ]

    /// What there is in the settings file besides settings of one value.
    private static let otherNames = [
        "profiles", "default_profile", "password_command", "vault_key_command", "albums.path_map",
    ]

    /// Those of them that are missed at once when they are not there.
    private static let harmless: Set = ["password_command", "albums.path_map"]

    /// The refusal of a setting in the settings file; nil when a warning will do.
    func refusalInFile(isTopLevel: Bool) -> SettingsError? {
        let near = nearestInFile(isTopLevel: isTopLevel)
        // Whole profiles and groups hold settings that protect.
        let isProtecting =
            near.map { name in
                SettingKey(rawValue: name).map(Self.protecting.contains) ?? !Self.harmless.contains(name)
            } ?? name.lowercased().split { "_-.".contains($0) }.contains(where: Self.protectingWords.contains)
        return isProtecting ? refusal(Spelling.hint(near)) : nil
    }

    /// The warning about a setting in the settings file.
    func warningInFile(isTopLevel: Bool) -> SettingsError {
        warning(Spelling.hint(nearestInFile(isTopLevel: isTopLevel)))
    }

    private func nearestInFile(isTopLevel: Bool) -> String? {
        let groups = SettingKey.groups.sorted()
        let others = Self.otherNames.filter { isTopLevel || !["profiles", "default_profile"].contains($0) }
        return Spelling.nearest(to: name, among: SettingKey.allCases.map(\.rawValue) + others + groups)
    }

    private func refusal(_ hint: String?) -> SettingsError {
        var refusal = place
        refusal.rule = "is not a setting, and may have been meant to protect"
        refusal.hint = hint ?? "remove it; mediactl config show lists the settings"
        return refusal
    }

    private func warning(_ hint: String?) -> SettingsError {
        var warning = place
        warning.rule = "is not a setting and is ignored"
        warning.hint = hint ?? "mediactl config show lists the settings"
        return warning
    }

    // MARK: Environment variables

    /// What is wrong with the `MEDIACTL_*` variables that resemble one of ours. Others may belong to another program.
    ///
    /// - Returns: The warnings.
    /// - Throws: `SettingsError` for one that may have been meant to protect.
    static func warnings(in environment: [String: String]) throws(SettingsError) -> [SettingsError] {
        let settings = Dictionary(
            SettingKey.allCases.map { ($0.environmentVariable, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        let known = settings.keys.sorted() + SettingKey.allCases.compactMap(\.deprecatedVariable) + otherVariables
        let prefix = "MEDIACTL_"
        var warnings: [SettingsError] = []
        for variable in environment.keys.sorted()
        where variable.hasPrefix(prefix) && !known.contains(variable) && environment[variable] != "" {
            let name = String(variable.dropFirst(prefix.count))
            let names = known.map { String($0.dropFirst(prefix.count)) }
            guard let near = Spelling.nearest(to: name, among: names) else { continue }
            let unknown = UnknownSetting(place: SettingsError(key: variable, rule: ""), name: name)
            let hint = Spelling.hint(prefix + near)
            if let setting = settings[prefix + near], protecting.contains(setting) { throw unknown.refusal(hint) }
            warnings.append(unknown.warning(hint))
        }
        return warnings
    }

    /// Variables that are no settings; the last ones are for tests that kill the program.
    private static let otherVariables = [
        "MEDIACTL_PROFILE", "MEDIACTL_CONFIG", "MEDIACTL_DATA_DIR", "MEDIACTL_PASSWORD", "MEDIACTL_PASSWORD_FILE",
        "MEDIACTL_API_KEY", "MEDIACTL_API_KEY_FILE", "MEDIACTL_KILL_AT", "MEDIACTL_KILL_AFTER",
    ]
}
