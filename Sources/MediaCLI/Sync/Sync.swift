internal import ArgumentParser
internal import Foundation
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import PhotoSync

struct Sync: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sync",
        abstract: "Index, push and download photos.",
        discussion: """
            With a directory, mediactl sync DIR lists what changed on the server, uploads the photos in DIR that the \
            server lacks, and downloads photos that this machine lacks to DIR/YEAR/MONTH. Nothing is deleted. The \
            first run that has photos to upload or download prints them and prompts; without a terminal, it requires \
            --yes. For a directory that is named like a command, use a path such as ./push.
            Without a command or directory, only the index is updated, as with mediactl sync pull.

            Examples:
              mediactl login --server https://photos.example.org
              mediactl sync Pictures --dry-run
              mediactl sync Pictures
              mediactl sync
              mediactl sync --full
              mediactl sync push Pictures
              mediactl sync download --missing --output Pictures
              mediactl sync verify
            """,
        subcommands: [
            SyncDirectory.self, SyncPull.self, SyncStatusCommand.self, SyncList.self, SyncPush.self, SyncForget.self,
            SyncDownload.self, SyncVerify.self, SyncRepair.self,
        ],
        defaultSubcommand: SyncDirectory.self
    )
}

enum PointInTime {
    /// Parses an RFC 3339 time with a zone, or a day, which starts at midnight in the local time zone. Returns UTC.
    ///
    /// - Throws: `UserFacingError` for any other input.
    static func parse(_ text: String, flag: String) throws(UserFacingError) -> PhotoTime {
        let midnight = CivilTime(day: text).map { $0.localSecondsSince1970 * 1_000_000 }
        // The server would ignore a zone other than Z (photosync contract, trap 4).
        guard let microseconds = RFC3339.microseconds(text) ?? midnight,
            let time = PhotoTime(microseconds: microseconds)
        else {
            throw .usage(
                "\(flag): \(ErrorCatalog.quoted(text)) is neither a day nor a time",
                hint: "use the form 2026-05-01, or with a time zone 2026-05-01T18:30:00Z"
            )
        }
        return time
    }
}

/// One photo server as used by this machine: login, stores, and connection.
struct SyncSession: Sendable {
    let settings: SettingsSession
    let server: ServerURL
    let library: LibraryStore
    let index: SyncIndex
    /// The stored login; nil if there is none.
    let login: Login?
    /// Shows the waits of a command that continues after a server outage; nil for a command that fails immediately.
    var outage: OutageNotice?

    var console: Console { settings.console }

    /// Identifies the server in the stores.
    var address: String { server.description }

    /// Opens the stores and prints a warning for each repair. Sends nothing.
    static func open(_ settings: SettingsSession) throws -> SyncSession {
        let server = try settings.requireServer(of: .syncURL)
        let directory = try DataDirectory.open(settings.locations.dataDirectory)
        let library = try LibraryStore(in: directory)
        let index = try SyncIndex(in: directory)
        // Both stores report warnings about the directory.
        for warning in library.warnings + index.warnings.filter({ !library.warnings.contains($0) }) {
            settings.console.warning(ErrorCatalog.clean(warning))
        }
        return SyncSession(
            settings: settings,
            server: server,
            library: library,
            index: index,
            login: try library.login(for: server.description)
        )
    }

    static func open(
        _ console: Console,
        _ global: GlobalOptions,
        _ connection: some ConnectionFlags
    ) async throws -> SyncSession {
        try open(await SettingsSession.open(console, global: global, connection: connection))
    }

    /// - Throws: `TransportError`; `CredentialError` if the key would be sent unencrypted.
    func client(key: String?) throws -> PhotoSyncClient {
        if key != nil {
            try settings.refuseClearText(server.origin, .syncURL)
        }
        return PhotoSyncClient(
            server: server,
            http: try settings.httpClient(for: .syncURL, surviving: outage),
            authorization: key.map { .apiKey($0, for: server.origin) },
            timeouts: settings.timeouts
        )
    }

    /// The account on the server, for the key from flags or environment, otherwise for the stored login.
    ///
    /// - Throws: `UserFacingError` if there is no key; `CredentialError`, `PhotoSyncError`, `TransportError`.
    func account(_ options: KeyOptions) async throws -> SyncAccount {
        let given = try await search(options.flags) { try await $0.givenKey() }
        guard let key = given ?? login?.apiKey else {
            throw ErrorCatalog.userFacingError(of: PhotoSyncError(.notLoggedIn, value: address))
        }
        let client = try client(key: key)
        return SyncAccount(
            client: client,
            deviceID: try await deviceID(for: key, client),
            index: index,
            library: library
        )
    }

    /// The stored device ID. A different key may belong to a different user, who has other devices.
    private func deviceID(for key: String, _ client: PhotoSyncClient) async throws -> String? {
        guard let login, let id = login.deviceID, key != login.apiKey else { return login?.deviceID }
        let devices = try await console.context.interruption.canceling { try await client.devices() }
        if devices.contains(where: { $0.id == id }) { return id }
        console.warning("this machine is not registered for the user of this key; register it with: mediactl login")
        return nil
    }

    func search<Found: Sendable>(
        _ flags: CredentialFlags,
        _ find: @escaping @Sendable (CredentialSearch) async throws -> Found
    ) async throws -> Found {
        try await settings.search(flags, at: server.origin, of: .syncURL, find: find)
    }
}
