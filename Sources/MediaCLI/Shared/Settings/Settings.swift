internal import CaptureSubmission
internal import GigHive
internal import MediaCore
internal import MediaTransport

/// All settings of one run, each with its origin. Limits and names are from the gighive contract (2.1, 2.6). `table`
/// defines how each setting is read.
struct Settings: Sendable {
    /// The default server for all services; nil if none is configured.
    var server: Setting<String>?
    /// The server for each service: its own address, for example `uploads_url`, otherwise `server`, from the source
    /// with the highest precedence that specifies either.
    fileprivate(set) var addresses: [SettingKey: Setting<String>] = [:]
    /// The reason why the upload server cannot be used: its address has a path, which only servers of other services may
    /// have.
    private(set) var uploadsURLError: SettingsError?
    /// The profile in use; its origin is the source that selected it.
    var profile: Setting<String>?
    var user: Setting<String>?
    /// PEM file.
    var caFile: Setting<String>?
    var pinnedKey: Setting<String>?
    var insecure = Setting<Bool>(default: false)
    var allowHTTP = Setting<Bool>(default: false)
    var http2 = Setting<Bool>(default: false)
    var connectTimeout = Setting<Duration>(default: .seconds(30))
    var stallTimeout = Setting<Duration>(default: .seconds(60))
    var responseTimeout = Setting<Duration>(default: .seconds(600))
    var finishTimeout = Setting<Duration>(default: .seconds(30))
    /// Maximum time to query the server for a file after a lost response.
    var settleTimeout = Setting<Duration>(default: .seconds(330))
    /// Bytes per second; nil for no limit.
    var limitRate = Setting<Int64?>(default: nil)
    var retries = Setting<Int>(default: 3)
    /// Maximum age of the last full listing of photos; nil for any age.
    var fullInterval = Setting<Duration?>(default: .seconds(7 * 86_400))
    /// Maximum size of an upload that the server accepts, in bytes.
    var maxBytes = Setting<Int64>(default: 6 << 30)
    /// The contact for manual deletions.
    var contact = Setting<String>(default: "contactgighive@gmail.com")
    var orgName = Setting<String>(default: "Band")
    var eventType = Setting<String>(default: "band")
    var color = Setting<ColorMode>(default: .auto)
    /// Number of parallel uploads.
    var jobs = Setting<Int>(default: 4)
    var transport = Setting<UploadOptions.TransportChoice>(default: .auto)
    /// Number of bytes in the first request of a resumable upload.
    var chunkSize = Setting<Int64>(default: 8 << 20)
    /// The capture server's format and checks.
    var captureProfile = Setting<CaptureProfile>(default: .mediactl1)
    /// Relying party ID of the capture server; nil for the ID in its profile.
    var captureRPID: Setting<String>?
    var albumsEnabled = Setting<Bool>(default: true)
    /// Taken from the source with the highest precedence that has this setting or a library address, which implies
    /// Immich.
    var albumsLibrary = Setting<AlbumLibraryChoice>(default: .folder)
    /// The directory of the folder library; nil for the pictures directory.
    var albumsFolderRoot: Setting<String>?
    /// Whether originals that are missing from a library may be uploaded to it.
    var albumsUpload = Setting<Bool>(default: true)
    /// Maps local directories to those on the library's server.
    private(set) var albumsPathMap: Setting<[PathPrefix]>?
    var deleteAssociatedAlbum = Setting<Bool>(default: false)
    /// The command that prints the vault key: program and arguments, without a shell; nil if the key is in a file.
    private(set) var vaultKeyCommand: Setting<[String]>?
    /// Warnings about unknown names: in the settings file, then in the environment.
    private(set) var warnings: [SettingsError] = []
    /// Notes about deprecated names, with their replacements.
    private(set) var notes: [String] = []
    /// The sections in use that have a `password_command`; the profile comes first.
    private(set) var passwordCommands: [SettingsFile.Section] = []
    /// The sources in use, in order of precedence.
    private(set) var sources: [ServerSource] = []
    /// Profiles that are not in use. Each still applies to its own servers.
    private(set) var otherProfiles: [String: SettingsFile.Section] = [:]

    /// The layer with the highest precedence comes first.
    init(layers: [SettingsLayer]) throws(SettingsError) {
        for row in Self.table { try row.read(&self, layers) }
    }

    private static func library(in layers: [SettingsLayer]) throws(SettingsError) -> Setting<AlbumLibraryChoice>? {
        for layer in layers {
            let choice: Setting<AlbumLibraryChoice>? = try layer.find(.albumsLibrary, InvalidValue.choice)
            if let choice { return choice }
            if let address = try layer.find(.libraryURL, SettingValue.addressBelowPath) {
                return Setting(value: .immich, origin: address.origin)
            }
        }
        return nil
    }

    /// Combines flags, `MEDIACTL_*`, profile, settings file and defaults.
    ///
    /// - Throws: `SettingsError` for any invalid value, including those in profiles that are not in use, and for
    ///   unknown names that may be misspelled security settings.
    static func resolve(
        flags: SettingsFlags,
        environment: [String: String],
        locations: SettingsLocations
    ) async throws(SettingsError) -> Settings {
        let file = try SettingsFile.read(locations: locations, home: environment["HOME"])
        for section in [file.global] + file.profiles.values {
            _ = try Settings(layers: [SettingsLayer(section: section)])
        }
        let given = [
            ServerSource(layer: SettingsLayer(flags: flags), scope: .target),
            ServerSource(layer: SettingsLayer(environment: environment), scope: .environment),
        ]
        let outer = given.map(\.layer)
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
        settings.sources = given + sections.map { ServerSource(section: $0) }
        settings.otherProfiles = file.profiles.filter { $0.key != profile?.value }
        settings.passwordCommands = sections.filter { $0.passwordCommand != nil }
        settings.vaultKeyCommand = sections.first(\.vaultKeyCommand)
        settings.albumsPathMap = sections.first(\.pathMap)
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

enum AlbumLibraryChoice: String, Sendable, CaseIterable {
    case folder, immich
}

/// A local directory and its path on the library's server.
struct PathPrefix: Sendable, Equatable {
    var local: String
    var server: String
}

/// Describes a setting with one value. Its names are derived from its key, its default from its property.
private struct SettingRow: Sendable {
    var key: SettingKey
    /// Reads the value from the source with the highest precedence that has one.
    var read: @Sendable (inout Settings, [SettingsLayer]) throws(SettingsError) -> Void
    /// Value and origin, for `config show`; nil if the setting has no value.
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

    /// Creates a row for a setting with a few named values.
    init<Value: RawRepresentable<String> & CaseIterable>(
        choice key: SettingKey,
        _ place: any (WritableKeyPath<Settings, Setting<Value>> & Sendable)
    ) {
        self.init(key, place, { text throws(InvalidValue) in try InvalidValue.choice(text) }, text: { $0.rawValue })
    }

    /// Creates a row for a setting without a default.
    init(
        _ key: SettingKey,
        _ place: any (WritableKeyPath<Settings, Setting<String>?> & Sendable),
        _ parse: @escaping @Sendable (String) throws(InvalidValue) -> String
    ) {
        self.key = key
        read = { settings, layers throws(SettingsError) in settings[keyPath: place] = try layers.find(key, parse) }
        show = { settings in settings[keyPath: place].map { ($0.value, $0.origin) } }
    }

    /// Creates a row for the address of a service, which defaults to `server`.
    init(address key: SettingKey) {
        self.key = key
        read = { settings, layers throws(SettingsError) in
            settings.addresses[key] = try layers.findAddress(key, SettingValue.addressBelowPath)
        }
        show = { settings in settings.addresses[key].map { ($0.value, $0.origin) } }
    }
}

extension Settings {
    /// Rows in the order of `config show`.
    private static let table: [SettingRow] =
        [SettingRow(.server, \.server, SettingValue.addressBelowPath)]
        + SettingKey.services.map { $0 == .uploadsURL ? uploadsURL : SettingRow(address: $0) } + values

    /// Every key, in the order of `table`.
    static let keys = table.map(\.key)

    private static let values: [SettingRow] = [
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
        SettingRow(.fullInterval, \.fullInterval, SettingValue.interval, text: { $0.map(days) ?? "never" }),
        SettingRow(.maxBytes, \.maxBytes, SettingValue.size),
        SettingRow(.contact, \.contact, SettingValue.text),
        SettingRow(.orgName, \.orgName, SettingValue.text),
        SettingRow(.eventType, \.eventType, SettingValue.text),
        SettingRow(choice: .color, \.color),
        SettingRow(.jobs, \.jobs, SettingValue.jobs),
        SettingRow(choice: .transport, \.transport),
        SettingRow(.chunkSize, \.chunkSize, SettingValue.chunkSize),
        SettingRow(choice: .captureProfile, \.captureProfile),
        SettingRow(.captureRPID, \.captureRPID, SettingValue.text),
        SettingRow(.albumsEnabled, \.albumsEnabled, SettingValue.boolean),
        albumsLibrary,
        SettingRow(.albumsFolderRoot, \.albumsFolderRoot, SettingValue.absolutePath),
        SettingRow(.albumsUpload, \.albumsUpload, SettingValue.boolean),
        SettingRow(.deleteAssociatedAlbum, \.deleteAssociatedAlbum, SettingValue.boolean),
    ]

    /// The address of an upload server has no path; `server`, which applies to all services, may have one.
    private static let uploadsURL: SettingRow = {
        var row = SettingRow(address: .uploadsURL)
        row.read = { settings, layers throws(SettingsError) in
            _ = try layers.find(.uploadsURL, SettingValue.address)
            settings.addresses[.uploadsURL] = try layers.findAddress(.uploadsURL, SettingValue.addressBelowPath)
            do throws(SettingsError) {
                _ = try layers.findAddress(.uploadsURL, SettingValue.address)
            } catch {
                settings.uploadsURLError = error
            }
        }
        return row
    }()

    private static let albumsLibrary: SettingRow = {
        var row = SettingRow(choice: .albumsLibrary, \.albumsLibrary)
        row.read = { settings, layers throws(SettingsError) in
            if let found = try library(in: layers) { settings.albumsLibrary = found }
        }
        return row
    }()

    typealias Row = (name: String, value: String, origin: SettingOrigin)

    /// Every setting, for `config show`. Settings are never secret, and commands are shown without their arguments.
    var rows: [Row] {
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

    /// Shows only the program: arguments may be secret.
    private static func brief(_ command: [String]) -> String {
        (command.first ?? "") + (command.count > 1 ? " ..." : "")
    }

    /// `7d`, or the result of `text`.
    @Sendable private static func days(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        guard seconds > 0, seconds % 86_400 == 0, attoseconds == 0 else { return text(duration) }
        return "\(seconds / 86_400)d"
    }

    /// `30s` or `0.500s`, in the format of the settings file.
    @Sendable private static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let thousandths = attoseconds / 1_000_000_000_000_000
        return thousandths == 0 ? "\(seconds)s" : "\(seconds).\(thousandths.padded(3))s"
    }
}

struct Setting<Value: Sendable>: Sendable {
    var value: Value
    var origin: SettingOrigin
}

extension Setting: Equatable where Value: Equatable {}

extension Setting {
    init(default value: Value) {
        self.init(value: value, origin: .builtIn)
    }
}

/// In order of precedence, highest first.
enum SettingOrigin: Sendable, Equatable, CustomStringConvertible {
    case flag
    /// The name of the variable.
    case environment(String)
    /// The name of the profile.
    case profile(String)
    /// The top level of the settings file, with the path of the file.
    case settingsFile(String)
    case builtIn

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
