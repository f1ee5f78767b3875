internal import CaptureSubmission
internal import GigHive
internal import MediaTransport

/// Every setting of one run, each with its origin.
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
    var insecure: Setting<Bool>
    var allowHTTP: Setting<Bool>
    var http2: Setting<Bool>
    var connectTimeout: Setting<Duration>
    var stallTimeout: Setting<Duration>
    var responseTimeout: Setting<Duration>
    var finishTimeout: Setting<Duration>
    /// How long a server is asked for a file whose answer was lost.
    var settleTimeout: Setting<Duration>
    /// Bytes a second; nil for no limit.
    var limitRate: Setting<Int64?>
    var retries: Setting<Int>
    /// The largest upload the server takes, in bytes.
    var maxBytes: Setting<Int64>
    /// Whom to ask for a manual deletion.
    var contact: Setting<String>
    var orgName: Setting<String>
    var eventType: Setting<String>
    var color: Setting<ColorMode>
    /// Files that are sent at a time.
    var jobs: Setting<Int>
    /// How the bytes go.
    var transport: Setting<UploadOptions.TransportChoice>
    /// Bytes of the first request of a resumable upload.
    var chunkSize: Setting<Int64>
    /// How the server of captures reads and checks them.
    var captureProfile: Setting<CaptureProfile>
    /// The relying party id of the server of captures; nil for that of its profile.
    var captureRPID: Setting<String>?
    /// Whether tapes have albums at all.
    var albumsEnabled: Setting<Bool>
    /// What holds the albums: what the strongest source says that names it or the address of a library, which is Immich's.
    var albumsLibrary: Setting<AlbumLibraryChoice>
    /// Where the folder library is; nil for the directory of pictures.
    var albumsFolderRoot: Setting<String>?
    /// Whether originals may be sent to a library that has not got them.
    var albumsUpload: Setting<Bool>
    /// What the library's server calls directories of this machine.
    private(set) var albumsPathMap: Setting<[PathPrefix]>?
    /// Whether the album of a tape goes with it.
    var deleteAssociatedAlbum: Setting<Bool>
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

    /// Puts the sources together, the strongest first. Defaults: design of the command line; limits and names are the
    /// gighive contract's (2.1, 2.6).
    init(layers: [SettingsLayer]) throws(SettingsError) {
        server = try layers.find(.server, SettingValue.addressBelowPath)
        _ = try layers.find(.uploadsURL, SettingValue.address)
        uploadsURL = try layers.findAddress(.uploadsURL, SettingValue.addressBelowPath)
        do {
            _ = try layers.findAddress(.uploadsURL, SettingValue.address)
        } catch {
            uploadsURLFault = error
        }
        syncURL = try layers.findAddress(.syncURL, SettingValue.addressBelowPath)
        captureURL = try layers.findAddress(.captureURL, SettingValue.addressBelowPath)
        libraryURL = try layers.findAddress(.libraryURL, SettingValue.addressBelowPath)
        user = try layers.find(.user, SettingValue.text)
        caFile = try layers.find(.caFile, SettingValue.text)
        pinnedKey = try layers.find(.pinnedKey, SettingValue.pin)
        insecure = try layers.find(.insecure, or: false, SettingValue.boolean)
        allowHTTP = try layers.find(.allowHTTP, or: false, SettingValue.boolean)
        http2 = try layers.find(.http2, or: false, SettingValue.boolean)
        connectTimeout = try layers.find(.connectTimeout, or: .seconds(30), SettingValue.timeout)
        stallTimeout = try layers.find(.stallTimeout, or: .seconds(60), SettingValue.timeout)
        responseTimeout = try layers.find(.responseTimeout, or: .seconds(600), SettingValue.timeout)
        finishTimeout = try layers.find(.finishTimeout, or: .seconds(30), SettingValue.timeoutOrZero)
        settleTimeout = try layers.find(.settleTimeout, or: .seconds(330), SettingValue.timeout)
        limitRate = try layers.find(.limitRate, or: nil, SettingValue.rate)
        retries = try layers.find(.retries, or: 3, SettingValue.count)
        maxBytes = try layers.find(.maxBytes, or: 6 << 30, SettingValue.size)
        contact = try layers.find(.contact, or: "contactgighive@gmail.com", SettingValue.text)
        orgName = try layers.find(.orgName, or: "Band", SettingValue.text)
        eventType = try layers.find(.eventType, or: "band", SettingValue.text)
        color = try layers.find(.color, or: .auto, SettingValue.color)
        jobs = try layers.find(.jobs, or: 4, SettingValue.jobs)
        transport = try layers.find(.transport, or: .auto, SettingValue.transport)
        chunkSize = try layers.find(.chunkSize, or: 8 << 20, SettingValue.chunkSize)
        captureProfile = try layers.find(.captureProfile, or: .mediactl1, SettingValue.captureProfile)
        captureRPID = try layers.find(.captureRPID, SettingValue.text)
        albumsEnabled = try layers.find(.albumsEnabled, or: true, SettingValue.boolean)
        albumsLibrary = try Self.library(in: layers)
        albumsFolderRoot = try layers.find(.albumsFolderRoot, SettingValue.absolutePath)
        albumsUpload = try layers.find(.albumsUpload, or: true, SettingValue.boolean)
        deleteAssociatedAlbum = try layers.find(.deleteAssociatedAlbum, or: false, SettingValue.boolean)
    }

    private static func library(in layers: [SettingsLayer]) throws(SettingsError) -> Setting<AlbumLibraryChoice> {
        for layer in layers {
            if let choice = try layer.find(.albumsLibrary, SettingValue.albumLibrary) { return choice }
            if let address = try layer.find(.libraryURL, SettingValue.addressBelowPath) {
                return Setting(value: .immich, origin: address.origin)
            }
        }
        return Setting(value: .folder, origin: .builtIn)
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
        var notes: [String] = []
        if flags.answerTimeout != nil { notes.append("--answer-timeout is deprecated; use --response-timeout") }
        for key in SettingKey.allCases {
            guard let old = key.deprecatedVariable, environment[old]?.isEmpty == false else { continue }
            notes.append("\(old) is deprecated; use \(key.environmentVariable)")
        }
        for section in [file.global] + file.profiles.values.sorted(by: { $0.keyPrefix < $1.keyPrefix }) {
            notes += section.deprecated.map { name, key in
                "\(section.keyPrefix)\(name) is deprecated; use \(key.rawValue)"
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

extension Settings {
    /// Name, value and origin of each setting, for `config show`. No secret is ever a setting, and of a
    /// command only the program is shown.
    var rows: [(name: String, value: String, origin: SettingOrigin)] {
        var rows: [(name: String, value: String, origin: SettingOrigin)] = []
        func add<Value>(_ name: String, _ setting: Setting<Value>?, _ text: (Value) -> String) {
            guard let setting else { return }
            rows.append((name, text(setting.value), setting.origin))
        }
        func add(_ key: SettingKey, _ setting: Setting<String>?) { add(key.rawValue, setting) { $0 } }
        func add(_ key: SettingKey, _ setting: Setting<Bool>) { add(key.rawValue, setting) { String($0) } }
        func add(_ key: SettingKey, _ setting: Setting<Duration>) { add(key.rawValue, setting, Self.text) }

        add("profile", profile) { $0 }
        add(.server, server)
        add(.uploadsURL, uploadsURL)
        add(.syncURL, syncURL)
        add(.captureURL, captureURL)
        add(.libraryURL, libraryURL)
        add(.user, user)
        for section in passwordCommands {
            guard let command = section.passwordCommand else { continue }
            rows.append(("password_command", Self.brief(command), section.origin))
        }
        add(.caFile, caFile)
        add(.pinnedKey, pinnedKey)
        add(.insecure, insecure)
        add(.allowHTTP, allowHTTP)
        add(.http2, http2)
        add(.connectTimeout, connectTimeout)
        add(.stallTimeout, stallTimeout)
        add(.responseTimeout, responseTimeout)
        add(.finishTimeout, finishTimeout)
        add(.settleTimeout, settleTimeout)
        add(SettingKey.limitRate.rawValue, limitRate) { $0.map { String($0) } ?? "none" }
        add(SettingKey.retries.rawValue, retries) { String($0) }
        add(SettingKey.maxBytes.rawValue, maxBytes) { String($0) }
        add(.contact, contact)
        add(.orgName, orgName)
        add(.eventType, eventType)
        add(SettingKey.color.rawValue, color) { $0.rawValue }
        add(SettingKey.jobs.rawValue, jobs) { String($0) }
        add(SettingKey.transport.rawValue, transport) { $0.rawValue }
        add(SettingKey.chunkSize.rawValue, chunkSize) { String($0) }
        add(SettingKey.captureProfile.rawValue, captureProfile) { $0.rawValue }
        add(.captureRPID, captureRPID)
        add(.albumsEnabled, albumsEnabled)
        add(SettingKey.albumsLibrary.rawValue, albumsLibrary) { $0.rawValue }
        add(.albumsFolderRoot, albumsFolderRoot)
        add(.albumsUpload, albumsUpload)
        add("albums.path_map", albumsPathMap) { $0.map { "\($0.local) = \($0.server)" }.joined(separator: ", ") }
        add(.deleteAssociatedAlbum, deleteAssociatedAlbum)
        add("vault_key_command", vaultKeyCommand) { Self.brief($0) }
        return rows
    }

    /// The program of a command, whose arguments may be telling.
    private static func brief(_ command: [String]) -> String {
        (command.first ?? "") + (command.count > 1 ? " ..." : "")
    }

    /// `30s`, or `0.5s`: what the settings file would take.
    private static func text(_ duration: Duration) -> String {
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
