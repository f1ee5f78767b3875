internal import Glibc
internal import MediaCore
internal import MediaTransport
internal import Yams

/// The settings file: top-level settings, and profiles with the same settings.
///
/// `fixtures/settings/config.yaml` is the documented example.
struct SettingsFile: Sendable {
    /// The top level or one profile.
    struct Section: Sendable {
        var file: String
        var origin: SettingOrigin
        /// `profiles.stage.`; empty at the top level.
        var keyPrefix: String
        var values: [SettingKey: (text: String, line: Int)] = [:]
        var passwordCommand: [String]?
        var vaultKeyCommand: [String]?
        /// `albums.path_map`
        var pathMap: [PathPrefix]?
        /// Deprecated names, in the order of the file.
        var deprecated: [(name: String, key: SettingKey)] = []
        /// Warnings about unknown names, in the order of the file.
        var unknown: [SettingsError] = []

        var origins: Set<Origin> {
            Set(
                SettingKey.addresses.compactMap { values[$0] }.compactMap {
                    try? ServerURL($0.text, allowingPath: true).origin
                }
            )
        }
    }

    var global: Section
    var profiles: [String: Section] = [:]
    /// `default_profile`: the profile to use if neither the command line nor the environment specifies a server.
    var defaultProfile: String?

    /// Warnings about unknown names, including those in unused profiles, in the order of the file.
    var warnings: [SettingsError] {
        ([global] + profiles.values).flatMap(\.unknown).sorted { $0.line ?? 0 < $1.line ?? 0 }
    }

    /// Reads the configured file. A missing file counts as empty, unless the user specified it.
    static func read(locations: SettingsLocations, home: String?) throws(SettingsError) -> SettingsFile {
        let path = locations.configFile
        let text: String
        do {
            text = try SmallFile.trustedText(atPath: path)
        } catch {
            let isOptional = error == .missing && !locations.isConfigFileNamed
            guard isOptional else { throw SettingsError(refusing: path, error) }
            text = ""
        }
        return try SettingsFile(text: text, path: path, home: home)
    }

    /// `path` is used in errors and as the base of relative paths. `home` replaces `~`.
    ///
    /// - Throws: `SettingsError` for the first invalid entry.
    init(text: String, path: String, home: String?) throws(SettingsError) {
        global = Section(file: path, origin: .settingsFile(path), keyPrefix: "")
        // An empty text is not parsed: creating the parser's tables takes longer than reading the other settings.
        guard !text.isEmpty, let root = try Self.compose(text, path), !Self.isNull(root) else { return }
        let reader = SectionReader(file: path, home: home)
        var profiles: [String: Section] = [:]
        var defaultProfile: Node?
        global = try reader.read(root, into: global) { key, node throws(SettingsError) in
            switch key {
            case "profiles": profiles = try reader.readProfiles(node)
            case "default_profile": defaultProfile = node
            default: return false
            }
            return true
        }
        self.profiles = profiles
        self.defaultProfile = try defaultProfile.map { node throws(SettingsError) in
            try reader.profileName(node, among: profiles.keys.sorted())
        }
        if global.passwordCommand != nil, global.origins.isEmpty {
            throw SettingsError(
                file: path,
                key: "password_command",
                rule: "must belong to a server",
                hint: "move it into a profile, or set server in the same section"
            )
        }
    }

    static func isNull(_ node: Node) -> Bool {
        node.scalar?.style == .plain && node.null != nil
    }

    private static func compose(_ text: String, _ path: String) throws(SettingsError) -> Node? {
        do {
            // Type rules are disabled: every value is read as text, and the default rules would compile seven regular
            // expressions at each start.
            return try Yams.compose(yaml: text, .basic)
        } catch {
            throw switch error as? YamlError {
            case .scanner(_, let problem, let mark, _)?, .parser(_, let problem, let mark, _)?,
                .composer(_, let problem, let mark, _)?:
                SettingsError(file: path, line: mark.line, rule: "is not valid YAML: \(problem)")
            case .duplicatedKeysInMapping(let duplicates, let context)?:
                SettingsError(file: path, line: context.mark.line, key: duplicates.first, rule: "is set twice")
            default:
                SettingsError(file: path, rule: "is not valid YAML")
            }
        }
    }
}

extension [SettingsFile.Section] {
    /// The value of the first section that has one.
    func first<Value>(_ entry: KeyPath<SettingsFile.Section, Value?>) -> Setting<Value>? {
        lazy.compactMap { section in
            section[keyPath: entry].map { Setting(value: $0, origin: section.origin) }
        }.first
    }
}

/// Paths of settings and data (XDG Base Directory Specification 0.8). Settings are never read from the current
/// directory.
struct SettingsLocations: Sendable, Equatable {
    var configFile: String
    var configFileOrigin: SettingOrigin
    /// For the token store, journal, rescue files and spool.
    var dataDirectory: String
    var dataDirectoryOrigin: SettingOrigin
    /// For data that can be recreated.
    var cacheDirectory: String

    /// Whether the user specified the settings file; if so, its absence is an error.
    var isConfigFileNamed: Bool { configFileOrigin != .builtIn }

    /// A separate file next to the settings file, since the settings file is never rewritten.
    func file(besideConfig name: String) -> String {
        (configFile.lastIndex(of: "/").map { configFile[...$0] } ?? "") + name
    }

    /// Flag, then `MEDIACTL_CONFIG` or `MEDIACTL_DATA_DIR`, then `XDG_*_HOME`, then `HOME`. Without a home directory,
    /// all paths that are not set by a separate variable are in the data directory.
    ///
    /// - Throws: `SettingsError` if neither a home directory nor an override specifies the data directory.
    init(
        environment: [String: String],
        configOverride: String? = nil,
        dataOverride: String? = nil
    ) throws(SettingsError) {
        func variable(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        // "All paths set in these environment variables must be absolute. If an implementation encounters a relative
        // path in any of these variables it should consider the path invalid and ignore it."
        func absolute(_ name: String) -> String? { variable(name).flatMap { $0.hasPrefix("/") ? $0 : nil } }
        func directory(_ name: String, below home: String) -> String? {
            (absolute(name) ?? absolute("HOME").map { $0 + home }).map { $0 + "/mediactl" }
        }

        func named(_ override: String?, _ name: String) -> (path: String?, origin: SettingOrigin) {
            guard let path = override ?? variable(name) else { return (nil, .builtIn) }
            return (path, override == nil ? .environment(name) : .flag)
        }

        let namedData = named(dataOverride, "MEDIACTL_DATA_DIR")
        guard let data = namedData.path ?? directory("XDG_DATA_HOME", below: "/.local/share") else {
            throw SettingsError(
                key: "HOME",
                rule: "no home directory: HOME is not set to an absolute path",
                hint: "specify a directory with --data-dir"
            )
        }
        let namedConfig = named(configOverride, "MEDIACTL_CONFIG")
        configFile = namedConfig.path ?? (directory("XDG_CONFIG_HOME", below: "/.config") ?? data) + "/config.yaml"
        configFileOrigin = namedConfig.origin
        dataDirectory = data
        dataDirectoryOrigin = namedData.origin
        cacheDirectory = directory("XDG_CACHE_HOME", below: "/.cache") ?? data + "/cache"
    }
}

/// Parses YAML mappings into sections and rejects invalid values. Unknown names cause a warning or an error
/// (`UnknownSetting`).
struct SectionReader {
    let file: String
    let home: String?

    func readProfiles(_ node: Node) throws(SettingsError) -> [String: SettingsFile.Section] {
        if SettingsFile.isNull(node) { return [:] }
        guard let mapping = node.mapping else {
            throw error(node, "profiles", "must contain names, each with its settings")
        }
        var profiles: [String: SettingsFile.Section] = [:]
        for (key, value) in mapping {
            guard let name = key.scalar?.string, !name.isEmpty else { throw error(key, "profiles", "must have names") }
            let empty = SettingsFile.Section(file: file, origin: .profile(name), keyPrefix: "profiles.\(name).")
            profiles[name] = try read(value, into: empty) { _, _ throws(SettingsError) in false }
        }
        return profiles
    }

    /// - Throws: `SettingsError` for an unknown profile.
    func profileName(_ node: Node, among known: [String]) throws(SettingsError) -> String {
        guard let name = node.scalar?.string, !SettingsFile.isNull(node) else {
            throw error(node, "default_profile", "must be the name of a profile")
        }
        guard known.contains(name) else {
            var refused = error(node, "default_profile", "is not a profile", value: name)
            refused.hint = ProfileChoice.hint(for: name, among: known, in: file)
            throw refused
        }
        return name
    }

    /// Reads the settings of one level. `special` reads keys that are valid only at this level and returns false for
    /// others.
    ///
    /// - Throws: `SettingsError` for the first invalid entry.
    func read(
        _ node: Node,
        into empty: SettingsFile.Section,
        special: (String, Node) throws(SettingsError) -> Bool
    ) throws(SettingsError) -> SettingsFile.Section {
        var section = empty
        if SettingsFile.isNull(node) { return section }
        guard let mapping = node.mapping else {
            let name = empty.keyPrefix.isEmpty ? nil : String(empty.keyPrefix.dropLast())
            throw error(node, name, "must contain settings, one `name: value` per line")
        }
        try fill(&section, from: mapping, group: "", special: special)
        return section
    }

    /// A name with dots is equivalent to nested groups.
    private func fill(
        _ section: inout SettingsFile.Section,
        from mapping: Node.Mapping,
        group: String,
        special: (String, Node) throws(SettingsError) -> Bool
    ) throws(SettingsError) {
        for (keyNode, value) in mapping {
            guard let word = keyNode.scalar?.string else { throw error(keyNode, nil, "is not the name of a setting") }
            let name = group + word
            let path = section.keyPrefix + name
            if let key = SettingKey(rawValue: name) ?? SettingKey.deprecated[name] {
                if SettingKey.deprecated[name] != nil { section.deprecated.append((name, key)) }
                guard section.values[key] == nil else { throw error(keyNode, path, "is set twice") }
                let text = try scalar(value, of: key, path)
                section.values[key] = (text, value.mark?.line ?? keyNode.mark?.line ?? 1)
            } else if SettingKey.groups.contains(name), SettingsFile.isNull(value) {
                continue
            } else if SettingKey.groups.contains(name) {
                guard let inner = value.mapping else { throw error(value, path, "must contain settings") }
                try fill(&section, from: inner, group: name + ".") { _, _ throws(SettingsError) in false }
            } else if name == "albums.path_map" {
                section.pathMap = try pathMap(value, path)
            } else if name == "password_command" {
                section.passwordCommand = try command(value, path)
            } else if name == "vault_key_command" {
                section.vaultKeyCommand = try command(value, path)
            } else if try !special(name, value) {
                let isTopLevel = section.keyPrefix.isEmpty && group.isEmpty
                section.unknown.append(try unknown(name, keyNode, path, isTopLevel: isTopLevel))
            }
        }
    }

    private func pathMap(_ node: Node, _ path: String) throws(SettingsError) -> [PathPrefix] {
        guard let mapping = node.mapping else {
            var refused = error(node, path, "must contain directories, one `local path: server path` per line")
            refused.hint = "for example /srv/photos: /mnt/library"
            throw refused
        }
        return try mapping.map { local, server throws(SettingsError) in
            guard let here = local.scalar?.string, let there = server.scalar?.string, here.hasPrefix("/"),
                there.hasPrefix("/")
            else { throw error(local, path, "must contain absolute paths") }
            return PathPrefix(local: here, server: there)
        }
    }

    private func scalar(_ node: Node, of key: SettingKey, _ path: String) throws(SettingsError) -> String {
        guard let scalar = node.scalar else { throw error(node, path, "must be a single value") }
        guard !SettingsFile.isNull(node) else { throw error(node, path, "has no value") }
        let isBoolean = scalar.style == .plain && node.bool != nil
        if key.isBoolean, !isBoolean {
            throw error(node, path, "must be true or false", value: scalar.string)
        }
        if !key.isBoolean, isBoolean {
            throw error(node, path, "is a boolean in YAML; quote it to use the word", value: scalar.string)
        }
        return key.isPath ? absolute(scalar.string) : scalar.string
    }

    /// Resolved against the directory of the settings file, never the current one.
    private func absolute(_ path: String) -> String {
        if path.hasPrefix("/") || path.isEmpty { return path }
        if path.hasPrefix("~/"), let home { return home + path.dropFirst() }
        let directory = file.contains("/") ? file[...(file.lastIndex(of: "/") ?? file.startIndex)] : ""
        return directory + path
    }

    private func command(_ node: Node, _ path: String) throws(SettingsError) -> [String] {
        let arguments = node.sequence?.map { $0.scalar?.string }
        guard let command = arguments?.compactMap({ $0 }), command.count == arguments?.count,
            command.first?.isEmpty == false
        else {
            var refused = error(node, path, "must be a list: the program and its arguments, run without a shell")
            refused.hint = "for example [pass, show, media/stage]"
            throw refused
        }
        return command
    }

    /// The warning about an unknown name. It never repeats the value, which may be a secret.
    ///
    /// - Throws: `SettingsError` for a secret, or for a name that may be a misspelled security setting.
    private func unknown(
        _ name: String,
        _ node: Node,
        _ path: String,
        isTopLevel: Bool
    ) throws(SettingsError) -> SettingsError {
        let secrets: Set = ["password", "passwd", "pass", "api_key", "apikey", "token", "secret"]
        if secrets.contains(name.lowercased().replacing("-", with: "_")) {
            var refused = error(node, path, "secrets do not belong in the settings file")
            refused.hint = "set a program that prints it: password_command: [pass, show, media]; or use netrc"
            throw refused
        }
        return try UnknownSetting(place: error(node, path, ""), name: name).warningInFile(isTopLevel: isTopLevel)
    }

    private func error(_ node: Node, _ key: String?, _ rule: String, value: String? = nil) -> SettingsError {
        SettingsError(file: file, line: node.mark?.line, key: key, value: value, rule: rule)
    }
}

/// An unknown name in the settings file or among the environment variables.
///
/// It is ignored with a warning: files are shared between versions and machines, and a misspelled timeout should not be
/// an error. A name that may be a misspelled security setting is refused instead: a typo must not cause a run without
/// the pin, with the password over plain http, to a different server, or that discloses more of a capture than the user
/// specified (docs/adr/0023-warn-about-unknown-settings-and-refuse-those-that-may-be-misspelled-security-settings.md).
/// Values are never repeated: they may be secrets.
struct UnknownSetting: Sendable {
    /// The location of the setting, and its name as entered by the user.
    var place: SettingsError
    /// The name of the setting without prefixes.
    var name: String

    /// Settings without which a run would be less safe, or would disclose, send or delete something other than what was
    /// specified.
    static let protecting = Set(SettingKey.addresses).union([
        .caFile, .pinnedKey, .insecure, .allowHTTP, .captureProfile, .captureRPID, .albumsEnabled, .albumsLibrary,
        .albumsUpload, .deleteAssociatedAlbum,
    ])

    /// Names used by other programs for such settings.
    private static let protectingWords: Set<Substring> = [
        "ca", "cafile", "capath", "cert", "certs", "certificate", "certificates", "https", "key", "keys", "pin",
        "pinned", "pinning",
        "pins",
        "privacy", "profile", "profiles", "secure", "security", "ssl", "tls", "trust", "trusted", "vault",
        "verification", "verify",
    ]

    /// Entries in the settings file other than settings with one value.
    private static let otherNames = [
        "profiles", "default_profile", "password_command", "vault_key_command", "albums.path_map",
    ]

    /// Settings whose absence is noticed immediately.
    private static let harmless: Set = ["password_command", "albums.path_map"]

    /// The warning about an unknown name in the settings file.
    ///
    /// - Throws: `SettingsError` for a name that may be a misspelled security setting.
    func warningInFile(isTopLevel: Bool) throws(SettingsError) -> SettingsError {
        let groups = SettingKey.groups.sorted()
        let others = Self.otherNames.filter { isTopLevel || !["profiles", "default_profile"].contains($0) }
        let near = Spelling.nearest(to: name, among: SettingKey.allCases.map(\.rawValue) + others + groups)
        // Whole profiles and groups contain security settings.
        let isProtecting =
            near.map { name in
                SettingKey(rawValue: name).map(Self.protecting.contains) ?? !Self.harmless.contains(name)
            } ?? name.lowercased().split { "_-.".contains($0) }.contains(where: Self.protectingWords.contains)
        if isProtecting { throw refusal(Spelling.hint(near)) }
        return warning(Spelling.hint(near))
    }

    private func refusal(_ hint: String?) -> SettingsError {
        var refusal = place
        refusal.rule = "is an unknown setting; refused, because it may be a misspelled security setting"
        refusal.hint = hint ?? "remove it; mediactl config show lists the settings"
        return refusal
    }

    private func warning(_ hint: String?) -> SettingsError {
        var warning = place
        warning.rule = "is an unknown setting and is ignored"
        warning.hint = hint ?? "mediactl config show lists the settings"
        return warning
    }

    // MARK: Environment variables

    /// Warnings about unknown `MEDIACTL_*` variables that resemble a valid one. Other variables may belong to a
    /// different program.
    ///
    /// - Throws: `SettingsError` for a name that may be a misspelled security setting.
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

    /// Variables that are not settings; the last ones are failpoints for tests.
    private static let otherVariables = [
        "MEDIACTL_PROFILE", "MEDIACTL_CONFIG", "MEDIACTL_DATA_DIR", "MEDIACTL_PASSWORD", "MEDIACTL_PASSWORD_FILE",
        "MEDIACTL_API_KEY", "MEDIACTL_API_KEY_FILE", "MEDIACTL_KILL_AT", "MEDIACTL_KILL_AFTER",
    ]
}

enum Spelling {
    /// The known name with the smallest edit distance, if that is 1 or at most a third of the known name's length;
    /// otherwise the only known name that begins with `name`, if `name` has at least 3 characters. `-` equals `_`, and
    /// case is ignored.
    static func nearest(to name: String, among known: [String]) -> String? {
        let wanted = letters(of: name)
        let ranked = known.map { (name: $0, edits: distance(wanted, letters(of: $0))) }
        if let best = ranked.min(by: { $0.edits < $1.edits }), best.edits * 3 <= max(best.name.count, 3) {
            return best.name
        }
        let longer = known.filter { letters(of: $0).starts(with: wanted) }
        return wanted.count > 2 && longer.count == 1 ? longer[0] : nil
    }

    /// nil if the name resembles no known name.
    static func hint(for name: String, among known: [String]) -> String? { hint(nearest(to: name, among: known)) }

    static func hint(_ nearest: String?) -> String? { nearest.map { "did you mean: \($0)" } }

    private static func letters(of name: String) -> [Character] {
        Array(name.lowercased().replacing("-", with: "_"))
    }

    /// Damerau distance: letters inserted, deleted, replaced, or swapped with their neighbors.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var rows = [Array(0...right.count)]
        for (i, a) in left.enumerated() {
            var row = [i + 1]
            for (j, b) in right.enumerated() {
                var best = min(rows[i][j] + (a == b ? 0 : 1), rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, a == right[j - 1], b == left[i - 1] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}

/// An invalid setting. Its exit code is always 2.
struct SettingsError: Error, Sendable, Equatable {
    /// nil if the setting is not in a settings file.
    var file: String?
    /// The first line is 1.
    var line: Int?
    /// As entered by the user: `--retries`, `MEDIACTL_RETRIES`, `profiles.work.retries`.
    var key: String?
    /// Never a secret.
    var value: String?
    /// The violated rule or the valid values.
    var rule: String
    var hint: String?

    /// One line without the hint: lowercase, no final period. For example
    /// `/home/a/.config/mediactl/config.yaml:3: retries: "many" is not a whole number`.
    var message: String {
        let place = file.map { $0 + (line.map { ":\($0)" } ?? "") }
        // The rule already mentions `HOME`; any other key precedes it.
        let subject = key.flatMap { $0 == "HOME" ? nil : $0 }
        let statement = value.map { "\"\($0)\" \(rule)" } ?? rule
        return TerminalText.escaped([place, subject, statement].compactMap { $0 }.joined(separator: ": "))
    }
}

extension SettingsError {
    /// A settings file that cannot be read, or that others can change.
    init(refusing path: String, _ failure: SmallFile.Failure) {
        let quoted = TerminalText.escaped(path)
        switch failure {
        case .foreign:
            self.init(file: path, rule: "refused: \(failure.reason)", hint: "run: sudo chown \(geteuid()) '\(quoted)'")
        case .writableByOthers:
            self.init(file: path, rule: "refused: \(failure.reason)", hint: "run: chmod go-w '\(quoted)'")
        default: self.init(file: path, rule: "cannot be read: \(failure.reason)")
        }
    }
}
