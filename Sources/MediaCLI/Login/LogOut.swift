internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import MediaTransport
internal import Tapes

struct LogOut: ContextCommand {
    static let schema = "mediactl.logout/1"
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "Delete the stored login for a server. Sends nothing.",
        discussion: """
            Deletes the token for an upload server and the API key for a photo server from this machine. Both stay \
            valid on the server, and this machine stays registered with a photo server; a later login uses the same \
            device again. Without a login, the command does nothing and succeeds.

            Examples:
              mediactl logout --server https://photos.example.org
              mediactl logout --all
            """
    )

    @Flag(help: "Delete the logins for all servers.")
    var all = false

    @Flag(name: .dryRun, help: "Show what would be deleted, without deleting it.")
    var dryRun = false

    @OptionGroup(title: "Connection options") var connection: ServerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    /// The addresses of one server in the two stores.
    struct Places {
        /// Origin of the upload server.
        var upload: String?
        /// Address of the photo server.
        var photo: String?
        /// Address of the same server as an Immich library, whose requests go below `/api`.
        var library: String?

        func select(_ rows: [LoginList.Row]) -> [LoginList.Row] {
            rows.filter { $0.service == "photo" ? [photo, library].contains($0.server) : $0.server == upload }
        }
    }

    func validate() throws {
        try require(
            !all || connection.server == nil && connection.named.profile == nil,
            "--all cannot be combined with --server or --profile."
        )
    }

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let places = all ? Places() : try Self.places(settings)
        let list = try LoginList.open(settings)
        let known = try list.rows(now: console.context.now()).filter { $0.scheme != nil }
        let rows = all ? known : places.select(known)
        for row in rows {
            if !dryRun { try delete(row, from: list) }
            let secret = row.service == "photo" ? "key" : "login"
            let words = "the \(secret) for \(ErrorCatalog.clean(row.server))"
            console.text([dryRun ? "\(words) would be deleted" : "deleted \(words)"])
        }
        let server = all ? "" : places.photo ?? places.upload ?? ""
        if rows.isEmpty {
            console.text([all ? "not logged in" : "not logged in to \(ErrorCatalog.clean(server))"])
        }
        return console.finish([
            "server": .string(server), "dry_run": .bool(dryRun), "was_logged_in": .bool(!rows.isEmpty),
            "removed": .bool(!dryRun && !rows.isEmpty), "servers": .array(rows.map { .string($0.server) }),
        ])
    }

    /// The configured server, as upload server, photo server and photo library.
    ///
    /// - Throws: `UserFacingError` if no server is configured; `ServerURLError`.
    static func places(_ settings: SettingsSession) throws -> Places {
        var places = Places(upload: (try? settings.configuredServer(of: .uploadsURL))?.origin.description)
        if places.upload == nil || settings.settings.addresses[.syncURL] != nil {
            let server = try settings.requireServer(of: .syncURL)
            places.photo = server.description
            places.library = ImmichLibrary.base(of: server).description
        }
        return places
    }

    private func delete(_ row: LoginList.Row, from list: LoginList) throws {
        if row.service == "photo" {
            _ = try list.library.removeLogin(for: row.server)
        } else {
            // Keeps the flag that the server requires a login: logging out must not allow passwords again.
            try list.logins.update(try ServerURL(row.server).origin) { $0.login = nil }
        }
    }
}
