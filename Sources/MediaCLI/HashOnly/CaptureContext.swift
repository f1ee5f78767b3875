internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// What all commands of `hash-only` work with: the open stores, and a session for each server.
struct CaptureContext: Sendable {
    let settings: SettingsSession
    let library: LibraryStore
    private let directory: DataDirectory
    private let http: HTTPClient

    var console: Console { settings.console }

    /// Opens the stores, and tells the user what was put right. Nothing is sent.
    ///
    /// - Parameters:
    ///   - settings: Which directory.
    ///   - scratch: Another directory of data, for what must leave nothing behind.
    /// - Returns: The open stores.
    /// - Throws: `StoreError`, `TransportError`.
    static func open(_ settings: SettingsSession, in scratch: String? = nil) throws -> CaptureContext {
        let directory = try DataDirectory.open(scratch ?? settings.locations.dataDirectory)
        let library = try LibraryStore(in: directory)
        for warning in library.warnings {
            settings.console.warning(ErrorCatalogue.clean(warning))
        }
        return CaptureContext(
            settings: settings,
            library: library,
            directory: directory,
            http: try settings.httpClient(for: .captureURL)
        )
    }

    /// Opens settings and stores of a command, and finishes what processes that have died left. Nothing is sent.
    ///
    /// - Throws: `SettingsError`, `StoreError`, `TransportError`, `ServerURLError`, `CaptureError`.
    static func open(
        _ console: Console,
        _ global: GlobalOptions,
        _ connection: some ConnectionFlags
    ) async throws -> CaptureContext {
        let context = try open(await SettingsSession.open(console, global: global, connection: connection))
        try await context.adopt()
        return context
    }

    /// The captures of the server that flags and settings name.
    ///
    /// - Throws: `Diagnosis` when nothing names one; `ServerURLError`.
    func session() throws -> CaptureSession {
        guard let server = try settings.configuredCaptureServer else { throw settings.noServer }
        return session(server, settings.settings.captureProfile.value)
    }

    /// The captures of the server that a record names.
    ///
    /// - Throws: `ServerURLError`, `CaptureError` for a record that cannot be understood.
    func session(for record: CaptureRecord) throws -> CaptureSession {
        guard let profile = CaptureProfile(rawValue: record.profile) else {
            throw CaptureError(.recordUnusable, detail: "its profile is not known", value: record.id)
        }
        return session(try ServerURL(record.server, allowingPath: true), profile)
    }

    /// A session that may send: what is told about a capture is for the server alone.
    ///
    /// - Throws: `CredentialError` when it would travel in clear text.
    func confidential(_ session: CaptureSession) throws -> CaptureSession {
        try settings.refuseClearText(session.client.server.origin, .captureURL, of: "captures")
        return session
    }

    /// A session for work on what is kept here, where it matters little which server it is: the one that is named, else
    /// that of the newest capture.
    ///
    /// - Throws: `StoreError`, `ServerURLError`; `Diagnosis` when there is neither.
    func anySession() throws -> CaptureSession {
        if let server = try settings.configuredCaptureServer {
            return session(server, settings.settings.captureProfile.value)
        }
        guard let newest = try library.captures().first else { throw settings.noServer }
        return try session(for: newest)
    }

    /// Finishes what processes that have died left. Nothing is sent.
    ///
    /// - Throws: `StoreError`, `ServerURLError`, `CaptureError`.
    func adopt() async throws {
        // A process may have died before its first record: then any server's session will do.
        if let newest = try library.captures().first {
            try await session(for: newest).adopt()
        } else if try settings.configuredCaptureServer != nil {
            try await session().adopt()
        }
    }

    /// The one record whose id begins like this.
    ///
    /// - Throws: `StoreError`; `CaptureError` when there is none; `Diagnosis` when there are several.
    func record(_ idPrefix: String) throws -> CaptureRecord {
        let found = try library.captures(idPrefix: idPrefix.lowercased())
        guard let record = try found.named(idPrefix, "capture", \.id) else {
            throw CaptureError(.captureUnknown, value: idPrefix)
        }
        return record
    }

    private func session(_ server: ServerURL, _ profile: CaptureProfile) -> CaptureSession {
        let context = console.context
        return CaptureSession(
            client: CaptureClient(server: server, http: http, timeouts: settings.timeouts),
            profile: profile,
            surroundings: CaptureSession.Surroundings(
                directory: directory,
                library: library,
                vaultKey: settings.vaultKey,
                programVersion: MediactlCommand.version,
                now: context.now
            )
        )
    }
}

extension SettingsSession {
    /// Runs `body` with stores that leave nothing behind: those of the data directory where there is one, else empty ones
    /// in a directory that goes away.
    ///
    /// - Throws: What `body` throws, and `StoreError`, `TransportError`.
    func withReadOnlyCaptures<Value>(_ body: (CaptureContext) async throws -> Value) async throws -> Value {
        let path = locations.dataDirectory
        if FileManager.default.fileExists(atPath: path + "/library.sqlite") {
            return try await body(CaptureContext.open(self))
        }
        let parent = FileManager.default.temporaryDirectory.path
        var template = Array((parent + "/mediactl-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw StoreError(.notWritable, path: parent, detail: SystemError.words(errno))
        }
        let scratch = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        return try await body(CaptureContext.open(self, in: scratch))
    }

    /// The privacy settings: a file of their own beside the settings file, so that a change of one cannot damage the other.
    var privacyFile: String {
        let file = locations.configFile
        guard let slash = file.lastIndex(of: "/") else { return "hash-only.json" }
        return file[...slash] + "hash-only.json"
    }

    /// The privacy settings that are kept.
    ///
    /// - Throws: `CaptureError` when they cannot be read: nobody's privacy is off by accident.
    func privacySettings() throws(CaptureError) -> PrivacySettings {
        try PrivacySettings.read(privacyFile)
    }

    /// The relying party id of the server.
    var captureRPID: String {
        settings.captureRPID?.value ?? settings.captureProfile.value.usualRPID
    }

    /// Where the vault's key comes from.
    var vaultKey: VaultKey {
        settings.vaultKeyCommand.map { .command($0.value) } ?? .file
    }
}

extension CaptureProfile {
    /// What servers of this profile call themselves unless their operator has changed it (hash-only contract 3.1).
    var usualRPID: String {
        switch self {
        case .mediactl1: "mediactl-1"
        case .reference: "XXXXXXXXXX.com.realitycam.app"
        }
    }
}
