internal import MediaTransport
internal import Yams

/// The settings file: top-level settings, and profiles with the same settings.
///
/// `fixtures/settings/config.yaml` is the documented example.
struct SettingsFile: Sendable {
    /// The top level, or one profile.
    struct Section: Sendable {
        var file: String
        var origin: SettingOrigin
        /// `profiles.stage.`, or nothing at the top level.
        var keyPrefix: String
        var values: [SettingKey: (text: String, line: Int)] = [:]
        var passwordCommand: [String]?
        var vaultKeyCommand: [String]?
        /// `albums.path_map`
        var pathMap: [PathPrefix]?
        /// Old names that it uses, in the order of the file.
        var deprecated: [(name: String, key: SettingKey)] = []
        /// What is said of names that are no settings, in the order of the file.
        var unknown: [SettingsError] = []

        /// The servers it names.
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
    /// `default_profile`: the profile to use if no server is specified.
    var defaultProfile: String?

    /// What is said of names that are no settings, also in profiles that are not in use, in the order of the file.
    var warnings: [SettingsError] {
        ([global] + profiles.values).flatMap(\.unknown).sorted { $0.line ?? 0 < $1.line ?? 0 }
    }

    /// Reads the file named by `locations`; nothing is in one that does not exist, unless the user named it.
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

    /// Reads the text of a settings file.
    ///
    /// - Parameters:
    ///   - text: YAML.
    ///   - path: Where it stands: named in errors, and the place that relative file names start from.
    ///   - home: What `~/` stands for.
    /// - Throws: `SettingsError` for the first thing that is not understood.
    init(text: String, path: String, home: String?) throws(SettingsError) {
        global = Section(file: path, origin: .settingsFile(path), keyPrefix: "")
        guard let root = try Self.compose(text, path), !Self.isNull(root) else { return }
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
                rule: "is for no server in particular",
                hint: "put it into a profile, or name the server beside it"
            )
        }
    }

    static func isNull(_ node: Node) -> Bool {
        node.scalar?.style == .plain && node.null != nil
    }

    private static func compose(_ text: String, _ path: String) throws(SettingsError) -> Node? {
        do {
            return try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw switch error {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                SettingsError(file: path, line: mark.line, rule: "is not YAML: \(problem)")
            case .duplicatedKeysInMapping(let duplicates, let context):
                SettingsError(file: path, line: context.mark.line, key: duplicates.first, rule: "is set twice")
            default:
                SettingsError(file: path, rule: "is not YAML")
            }
        } catch {
            throw SettingsError(file: path, rule: "is not YAML")
        }
    }
}
