internal import CaptureSubmission
internal import Foundation
internal import HashCapture
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Shared dependencies of all `hash-only` commands: the open stores, and a session for each server.
struct CaptureContext: Sendable {
    let settings: SettingsSession
    let library: LibraryStore
    private let directory: DataDirectory
    private let http: HTTPClient

    var console: Console { settings.console }

    /// Opens the stores and prints a warning for each repair. Sends nothing.
    static func open(
        _ settings: SettingsSession,
        for access: StoreSession.Access = .writing
    ) throws -> CaptureContext {
        let (directory, library) = try StoreSession.library(settings, for: access)
        let vaultCount = try library.hasCaptures() ? 0 : directory.vaultCaptureCount()
        if vaultCount > 0 {
            settings.console.warning(
                "the vault has \(Formats.count(vaultCount, "capture")), but "
                    + "\(ErrorCatalog.quoted(directory.path + "/library.sqlite")) has none: it was lost or replaced; "
                    + "restore it from a backup, or their signatures and registrations are lost"
            )
        }
        return try CaptureContext(settings, library, directory)
    }

    init(_ settings: SettingsSession, _ library: LibraryStore, _ directory: DataDirectory) throws {
        self.settings = settings
        self.library = library
        self.directory = directory
        http = try settings.httpClient(for: .captureURL)
    }

    /// Opens the settings and stores of a command and completes the unfinished work of exited processes. Sends nothing.
    static func open(
        _ console: Console,
        _ global: GlobalOptions,
        _ connection: some ConnectionFlags,
        for access: StoreSession.Access = .writing
    ) async throws -> CaptureContext {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let context = try open(settings, for: access)
        do {
            try await context.adopt()
        } catch {
            // Reading does not depend on completing unfinished work.
            guard access == .reading else { throw error }
            console.warning(ErrorCatalog.userFacingError(of: error).message)
        }
        return context
    }

    /// A session for the configured server.
    ///
    /// - Throws: `UserFacingError` if no server is configured; `ServerURLError`.
    func session() throws -> CaptureSession {
        let server = try settings.requireServer(of: .captureURL)
        return session(server, settings.settings.captureProfile.value)
    }

    /// - Throws: `ServerURLError`; `CaptureError` if the record's profile is unknown.
    func session(for record: CaptureRecord) throws -> CaptureSession {
        guard let profile = CaptureProfile(rawValue: record.profile) else {
            throw CaptureError(.recordUnusable, detail: "unknown profile", value: record.id)
        }
        return session(try ServerURL(record.server, allowingPath: true), profile)
    }

    /// A session that may send captures.
    ///
    /// - Throws: `CredentialError` if captures would be sent unencrypted.
    func confidential(_ session: CaptureSession) throws -> CaptureSession {
        try settings.refuseClearText(session.client.server.origin, .captureURL, of: "captures")
        return session
    }

    /// A session for local work, for which any server is suitable: the configured server, otherwise the newest
    /// capture's.
    ///
    /// - Throws: `StoreError`, `ServerURLError`; `UserFacingError` if there is neither.
    func anySession() throws -> CaptureSession {
        if let server = try settings.configuredServer(of: .captureURL) {
            return session(server, settings.settings.captureProfile.value)
        }
        guard let newest = try library.captures().first else { throw settings.noServer }
        return try session(for: newest)
    }

    /// Completes the unfinished work of exited processes. Sends nothing.
    func adopt() async throws {
        guard !library.isReadOnly else { return }
        // A process may have exited before it wrote its first record; in this case, a session for any server is
        // suitable.
        if let newest = try library.captures().first {
            try await session(for: newest).adopt()
        } else if try settings.configuredServer(of: .captureURL) != nil {
            try await session().adopt()
        }
    }

    /// The only record with this ID prefix.
    ///
    /// - Throws: `StoreError`; `CaptureError` if there is no such record; `UserFacingError` if there are several.
    func record(_ idPrefix: String) throws -> CaptureRecord {
        let found = try library.captures(idPrefix: idPrefix.lowercased())
        guard let record = try found.named(idPrefix, "capture", \.id) else {
            throw CaptureError(.captureUnknown, value: idPrefix)
        }
        return record
    }

    /// The options with which printed commands use the server of a record, which may not be the configured one.
    func hintOptions(for record: CaptureRecord) -> HintOptions {
        let isNamed = settings.needsServerOption(for: record.server, of: .captureURL)
        var options = (isNamed ? console.hintOptions(naming: record.server) : nil) ?? HintOptions()
        if record.profile != settings.settings.captureProfile.value.rawValue {
            options.choices[.captureProfile] = record.profile
        }
        return options
    }

    /// Why the copy of a record's media in the vault cannot be read; nil if it can be read. Its content is not checked.
    func problem(withCopyOf record: CaptureRecord) -> OutcomeCode? {
        CaptureVault(directory: directory, key: settings.vaultKey).problem(with: .media, of: record.id)
    }

    private func session(_ server: ServerURL, _ profile: CaptureProfile) -> CaptureSession {
        let context = console.context
        return CaptureSession(
            client: CaptureClient(server: server, http: http, timeouts: settings.timeouts),
            profile: profile,
            dependencies: CaptureSession.Dependencies(
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
    /// Runs `body` with the stores of the data directory if it exists, otherwise with empty stores in a temporary
    /// directory.
    ///
    /// - Throws: Errors from `body`, and `StoreError`, `TransportError`.
    func withReadOnlyCaptures<Value>(_ body: (CaptureContext) async throws -> Value) async throws -> Value {
        let path = locations.dataDirectory
        if FileManager.default.fileExists(atPath: path + "/library.sqlite") {
            return try await body(CaptureContext.open(self, for: .reading))
        }
        let parent = FileManager.default.temporaryDirectory.path
        var template = Array((parent + "/mediactl-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw StoreError(.notWritable, path: parent, detail: SystemError.words(errno))
        }
        let scratch = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        let directory = try DataDirectory.open(scratch)
        return try await body(CaptureContext(self, LibraryStore(in: directory), directory))
    }

    /// Separate from the settings file, so changing one cannot damage the other.
    var privacyFile: String { locations.file(besideConfig: "hash-only.json") }

    /// - Throws: `CaptureError` if the settings cannot be read: an unreadable file must not disable privacy.
    func privacySettings() throws(CaptureError) -> PrivacySettings {
        try PrivacySettings.read(privacyFile)
    }

    /// The server's relying party ID.
    var captureRPID: String {
        settings.captureRPID?.value ?? settings.captureProfile.value.usualRPID
    }

    var vaultKey: VaultKey {
        settings.vaultKeyCommand.map { .command($0.value) } ?? .file
    }
}

extension CaptureProfile {
    /// The relying party ID that servers of this profile use by default (hash-only contract 3.1).
    var usualRPID: String {
        switch self {
        case .mediactl1: "mediactl-1"
        case .reference: "XXXXXXXXXX.com.realitycam.app"
        }
    }
}
