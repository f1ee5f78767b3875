internal import ArgumentParser
internal import GigHive
internal import MediaTransport

struct MediaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "media",
        abstract: "List, show, find or delete files on a server.",
        discussion: """
            Unlike uploads, which manages this machine's uploads, media covers every file on the server. Any user can \
            list and find files; deleting requires the admin user.

            Examples:
              mediactl media list --event-date 2026-06-13
              mediactl media find --org-name "The Band" --label "Encore"
              mediactl media delete 18
            """,
        subcommands: [MediaList.self, MediaShow.self, MediaFind.self, MediaDelete.self]
    )
}

struct MediaSession: Sendable {
    let server: ServerURL
    let client: GigHiveClient

    /// Finds the credentials.
    ///
    /// - Throws: `SettingsError`, `CredentialError`; `UserFacingError` if no server is configured.
    init(_ settings: SettingsSession, _ credentials: CredentialOptions) async throws {
        server = try settings.requireServer()
        client = try await ServerSession(settings, credentials: credentials).client(for: server)
    }

    /// Reads the settings and finds the credentials.
    static func open(_ console: Console, for command: some UploadServerCommand) async throws -> MediaSession {
        let settings = try await SettingsSession.open(console, global: command.global, connection: command.connection)
        return try await MediaSession(settings, command.credentials)
    }

    /// The matching files. Details require one request per file; a file that is deleted in the meantime is omitted.
    func files(matching query: MediaQuery, withDetails: Bool) async throws -> [ServerMedia] {
        let files = try await client.media(matching: query)
        guard withDetails else { return files }
        var detailed: [ServerMedia] = []
        for file in files {
            if let file = try await client.details(of: file) {
                detailed.append(file)
            }
        }
        return detailed
    }
}
