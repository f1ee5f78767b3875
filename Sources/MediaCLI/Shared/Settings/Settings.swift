internal import CaptureSubmission
internal import GigHive
internal import MediaTransport

/// Every setting of one run, each with its origin; first with its default. Limits and names are the gighive contract's
/// (2.1, 2.6). `table` says how each is read.
struct Settings: Sendable {
    /// The default server of all services; nil when nothing names one.
    var server: Setting<String>?
    /// Server of uploads: `uploads_url`, else `server`, of the strongest source that names either.
    var uploadsURL: Setting<String>?
    /// Why `uploadsURL` can be no server of uploads: it lives below a path, as only servers of other services may.
    private(set) var uploadsURLFault: SettingsError?
    /// The same for the metadata sync.
    var syncURL: Setting<String>?
    /// The same for hash-only captures.
    var captureURL: Setting<String>?
    /// The same for tapes and albums.
    var libraryURL: Setting<String>?
    /// The profile in use; its origin says what selected it.
    var profile: Setting<String>?
    var user: Setting<String>?
    /// A PEM file of certificate authorities.
    var caFile: Setting<String>?
    var pinnedKey: Setting<String>?
    var insecure = Setting<Bool>(default: false)
    var allowHTTP = Setting<Bool>(default: false)
    var http2 = Setting<Bool>(default: false)
    var connectTimeout = Setting<Duration>(default: .seconds(30))
    var stallTimeout = Setting<Duration>(default: .seconds(60))
    var responseTimeout = Setting<Duration>(default: .seconds(600))
    var finishTimeout = Setting<Duration>(default: .seconds(30))
    /// How long a server is asked for a file whose answer was lost.
    var settleTimeout = Setting<Duration>(default: .seconds(330))
    /// Bytes a second; nil for no limit.
    var limitRate = Setting<Int64?>(default: nil)
    var retries = Setting<Int>(default: 3)
    /// The largest upload the server takes, in bytes.
    var maxBytes = Setting<Int64>(default: 6 << 30)
    /// Whom to ask for a manual deletion.
    var contact = Setting<String>(default: "contactgighive@gmail.com")
    var orgName = Setting<String>(default: "Band")
    var eventType = Setting<String>(default: "band")
    var color = Setting<ColorMode>(default: .auto)
    /// Files that are sent at a time.
    var jobs = Setting<Int>(default: 4)
    /// How the bytes go.
    var transport = Setting<UploadOptions.TransportChoice>(default: .auto)
    /// Bytes of the first request of a resumable upload.
    var chunkSize = Setting<Int64>(default: 8 << 20)
    /// How the server of captures reads and checks them.
    var captureProfile = Setting<CaptureProfile>(default: .mediactl1)
    /// The relying party id of the server of captures; nil for that of its profile.
    var captureRPID: Setting<String>?
    /// Whether tapes have albums at all.
    var albumsEnabled = Setting<Bool>(default: true)
    /// What holds the albums: what the strongest source says that names it or the address of a library, which is Immich's.
    var albumsLibrary = Setting<AlbumLibraryChoice>(default: .folder)
    /// Where the folder library is; nil for the directory of pictures.
    var albumsFolderRoot: Setting<String>?
    /// Whether originals may be sent to a library that has not got them.
    var albumsUpload = Setting<Bool>(default: true)
    /// What the library's server calls directories of this machine.
    private(set) var albumsPathMap: Setting<[PathPrefix]>?
    /// Whether the album of a tape goes with it.
    var deleteAssociatedAlbum = Setting<Bool>(default: false)
    /// The command that prints the key of the vault: program and arguments, no shell. nil when the key is a file.
    private(set) var vaultKeyCommand: Setting<[String]>?
    /// What is said of names that are no settings: in the settings file, then in the environment.
    private(set) var warnings: [SettingsError] = []
    /// Old names that are still accepted, each with its replacement.
    private(set) var notes: [String] = []
    /// The sections of the settings file in use that hold a `password_command`, the profile first.
    private(set) var passwordCommands: [SettingsFile.Section] = []
    /// The sources in use, by precedence, each with the servers it applies to.
    private(set) var sources: [ServerSource] = []
    /// Profiles that are not in use. Each still applies to its own servers.
    private(set) var otherProfiles: [String: SettingsFile.Section] = [:]

    /// Puts the sources together, the strongest first.
    init(layers: [SettingsLayer]) throws(SettingsError) {
        for row in Self.table { try row.read(&self, layers) }
    }

    private static func library(in layers: [SettingsLayer]) throws(SettingsError) -> Setting<AlbumLibraryChoice>? {
        for layer in layers {
            if let choice = try layer.find(.albumsLibrary, SettingValue.albumLibrary) { return choice }
            if let address = try layer.find(.libraryURL, SettingValue.addressBelowPath) {
                return Setting(value: .immich, origin: address.origin)
            }
        }
        return nil
    }

    /// Reads the settings file, if there is one, and puts flags, `MEDIACTL_*`, profile, file and defaults together.
    ///
    /// - Throws: `SettingsError` for any value that is not exactly understood, also in profiles that are not in use, and
    ///   for names that are no settings but may have been meant to protect.
    static func resolve(
        flags: SettingsFlags,
        environment: [String: String],
        locations: SettingsLocations
    ) async throws(SettingsError) -> Settings {
        let file = try SettingsFile.read(locations: locations, home: environment["HOME"])
        for section in [file.global] + file.profiles.values {
            _ = try Settings(layers: [SettingsLayer(section: section)])
        }
        let outer = [SettingsLayer(flags: flags), SettingsLayer(environment: environment)]
        let global = SettingsLayer(section: file.global)
        let profile = try ProfileChoice(flags: flags, environment: environment)
            .choose(from: file, unselected: Settings(layers: outer + [global]))

        let selected = profile.flatMap { file.profiles[$0.value] }
        let layers = outer + (selected.map { [SettingsLayer(section: $0)] } ?? []) + [global]
        var settings = try Settings(layers: layers)
        settings.profile = profile
        settings.warnings = file.warnings + (try UnknownSetting.warnings(in: environment))
        settings.notes = Self.notes(flags: flags, environment: environment, file: file)
        let sections = [selected, file.global].compactMap { $0 }
        settings.sources =
            [ServerSource(flags: flags), ServerSource(environment: environment)]
            + sections.map { ServerSource(section: $0) }
        settings.otherProfiles = file.profiles.filter { $0.key != profile?.value }
        settings.passwordCommands = sections.filter { $0.passwordCommand != nil }
        settings.vaultKeyCommand =
            sections.lazy.compactMap { section in
                section.vaultKeyCommand.map { Setting(value: $0, origin: section.origin) }
            }.first
        settings.albumsPathMap =
            sections.lazy.compactMap { section in
                section.pathMap.map { Setting(value: $0, origin: section.origin) }
            }.first
        return settings
    }

    private static func notes(
        flags: SettingsFlags,
        environment: [String: String],
        file: SettingsFile
    ) -> [String] {
        var notes = flags.deprecated
        for key in SettingKey.allCases {
            guard let old = key.deprecatedVariable, environment[old]?.isEmpty == false else { continue }
            notes.append(Deprecated.note(old, use: key.environmentVariable))
        }
        for section in [file.global] + file.profiles.values.sorted(by: { $0.keyPrefix < $1.keyPrefix }) {
            notes += section.deprecated.map { name, key in
                Deprecated.note(section.keyPrefix + name, use: key.rawValue)
            }
        }
        return notes
    }
}

/// What holds the albums of tapes.
enum AlbumLibraryChoice: String, Sendable, CaseIterable {
    case folder, immich
}

/// A directory of this machine, and what the server of a library calls it.
struct PathPrefix: Sendable, Equatable {
    var local: String
    var server: String
}

/// What mediactl knows of a setting of one value. Its names are those of its key, its default that of its property.
private struct SettingRow: Sendable {
    var key: SettingKey
    /// Takes the value of the strongest source that has one.
    var read: @Sendable (inout Settings, [SettingsLayer]) throws(SettingsError) -> Void
    /// Value and origin, for `config show`; nil where there is none.
    var show: @Sendable (Settings) -> (value: String, origin: SettingOrigin)?

    init<Value>(
        _ key: SettingKey,
        _ place: any (WritableKeyPath<Settings, Setting<Value>> & Sendable),
        _ parse: @escaping @Sendable (String) throws(InvalidValue) -> Value,
        text: @escaping @Sendable (Value) -> String = { "\($0)" }
    ) {
        self.key = key
        read = { settings, layers throws(SettingsError) in
            if let found = try layers.find(key, parse) { settings[keyPath: place] = found }
        }
        show = { (text($0[keyPath: place].value), $0[keyPath: place].origin) }
    }

    /// A setting without a default.
    init(
        _ key: SettingKey,
        _ place: any (WritableKeyPath<Settings, Setting<String>?> & Sendable),
        _ parse: @escaping @Sendable (String) throws(InvalidValue) -> String
    ) {
        self.key = key
        read = { settings, layers throws(SettingsError) in settings[keyPath: place] = try layers.find(key, parse) }
        show = { settings in settings[keyPath: place].map { ($0.value, $0.origin) } }
    }

    /// The address of a service, or the server of all.
    init(address key: SettingKey, _ place: any (WritableKeyPath<Settings, Setting<String>?> & Sendable)) {
        self.init(key, place, SettingValue.addressBelowPath)
        read = { settings, layers throws(SettingsError) in
            settings[keyPath: place] = try layers.findAddress(key, SettingValue.addressBelowPath)
        }
    }
}

extension Settings {
    /// Every setting of one value, in the order of `config show`.
    private static let table: [SettingRow] = [
        SettingRow(.server, \.server, SettingValue.addressBelowPath),
        uploadsURL,
        SettingRow(address: .syncURL, \.syncURL),
        SettingRow(address: .captureURL, \.captureURL),
        SettingRow(address: .libraryURL, \.libraryURL),
        SettingRow(.user, \.user, SettingValue.text),
        SettingRow(.caFile, \.caFile, SettingValue.text),
        SettingRow(.pinnedKey, \.pinnedKey, SettingValue.pin),
        SettingRow(.insecure, \.insecure, SettingValue.boolean),
        SettingRow(.allowHTTP, \.allowHTTP, SettingValue.boolean),
        SettingRow(.http2, \.http2, SettingValue.boolean),
        SettingRow(.connectTimeout, \.connectTimeout, SettingValue.timeout, text: text),
        SettingRow(.stallTimeout, \.stallTimeout, SettingValue.timeout, text: text),
        SettingRow(.responseTimeout, \.responseTimeout, SettingValue.timeout, text: text),
        SettingRow(.finishTimeout, \.finishTimeout, SettingValue.timeoutOrZero, text: text),
        SettingRow(.settleTimeout, \.settleTimeout, SettingValue.timeout, text: text),
        SettingRow(.limitRate, \.limitRate, SettingValue.rate, text: { $0.map { String($0) } ?? "none" }),
        SettingRow(.retries, \.retries, SettingValue.count),
        SettingRow(.maxBytes, \.maxBytes, SettingValue.size),
        SettingRow(.contact, \.contact, SettingValue.text),
        SettingRow(.orgName, \.orgName, SettingValue.text),
        SettingRow(.eventType, \.eventType, SettingValue.text),
        SettingRow(.color, \.color, SettingValue.color, text: \.rawValue),
        SettingRow(.jobs, \.jobs, SettingValue.jobs),
        SettingRow(.transport, \.transport, SettingValue.transport, text: \.rawValue),
        SettingRow(.chunkSize, \.chunkSize, SettingValue.chunkSize),
        SettingRow(.captureProfile, \.captureProfile, SettingValue.captureProfile, text: \.rawValue),
        SettingRow(.captureRPID, \.captureRPID, SettingValue.text),
        SettingRow(.albumsEnabled, \.albumsEnabled, SettingValue.boolean),
        albumsLibrary,
        SettingRow(.albumsFolderRoot, \.albumsFolderRoot, SettingValue.absolutePath),
        SettingRow(.albumsUpload, \.albumsUpload, SettingValue.boolean),
        SettingRow(.deleteAssociatedAlbum, \.deleteAssociatedAlbum, SettingValue.boolean),
    ]

    /// A server of uploads lives at the root of its host; the address of all services may not.
    private static let uploadsURL: SettingRow = {
        var row = SettingRow(address: .uploadsURL, \.uploadsURL)
        row.read = { settings, layers throws(SettingsError) in
            _ = try layers.find(.uploadsURL, SettingValue.address)
            settings.uploadsURL = try layers.findAddress(.uploadsURL, SettingValue.addressBelowPath)
            do throws(SettingsError) {
                _ = try layers.findAddress(.uploadsURL, SettingValue.address)
            } catch {
                settings.uploadsURLFault = error
            }
        }
        return row
    }()

    private static let albumsLibrary: SettingRow = {
        var row = SettingRow(.albumsLibrary, \.albumsLibrary, SettingValue.albumLibrary, text: \.rawValue)
        row.read = { settings, layers throws(SettingsError) in
            if let found = try library(in: layers) { settings.albumsLibrary = found }
        }
        return row
    }()

    /// Name, value and origin of each setting, for `config show`. No secret is ever a setting, and of a
    /// command only the program is shown.
    var rows: [(name: String, value: String, origin: SettingOrigin)] {
        var rows = profile.map { [("profile", $0.value, $0.origin)] } ?? []
        for row in Self.table {
            if let (value, origin) = row.show(self) { rows.append((row.key.rawValue, value, origin)) }
            switch row.key {
            case .user:
                rows += passwordCommands.compactMap { section in
                    section.passwordCommand.map { ("password_command", Self.brief($0), section.origin) }
                }
            case .albumsUpload:
                guard let map = albumsPathMap else { continue }
                let text = map.value.map { "\($0.local) = \($0.server)" }.joined(separator: ", ")
                rows.append(("albums.path_map", text, map.origin))
            default: break
            }
        }
        if let command = vaultKeyCommand {
            rows.append(("vault_key_command", Self.brief(command.value), command.origin))
        }
        return rows.map { (name: $0.0, value: $0.1, origin: $0.2) }
    }

    /// The program of a command, whose arguments may be telling.
    private static func brief(_ command: [String]) -> String {
        (command.first ?? "") + (command.count > 1 ? " ..." : "")
    }

    /// `30s`, or `0.5s`: what the settings file would take.
    @Sendable private static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let thousandths = attoseconds / 1_000_000_000_000_000
        guard thousandths != 0 else { return "\(seconds)s" }
        let digits = String(thousandths + 1000).dropFirst()
        return "\(seconds).\(digits)s"
    }
}

/// A value and where it came from.
struct Setting<Value: Sendable>: Sendable {
    var value: Value
    var origin: SettingOrigin
}

extension Setting: Equatable where Value: Equatable {}

extension Setting {
    /// mediactl's own choice.
    init(default value: Value) {
        self.init(value: value, origin: .builtIn)
    }
}

/// The source of a setting, strongest first.
enum SettingOrigin: Sendable, Equatable, CustomStringConvertible {
    /// The command line.
    case flag
    /// The environment variable of that name.
    case environment(String)
    /// The profile of that name in the settings file.
    case profile(String)
    /// The top level of the settings file at that path.
    case settingsFile(String)
    /// mediactl's own default.
    case builtIn

    /// For `config show`.
    var description: String {
        switch self {
        case .flag: "command line"
        case .environment(let name): "environment (\(name))"
        case .profile(let name): "profile \(name)"
        case .settingsFile(let path): path
        case .builtIn: "default"
        }
    }
}
