internal import ArgumentParser
internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaStore
internal import MediaTransport

struct LogInStatus: ServerCommand {
    static let schema = "mediactl.login-status/1"
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show the stored logins and their expiry. Sends nothing.",
        discussion: """
            Shows all logins, or with --server only those for one server; never shows a token or key. Exits with 4 if \
            there is no login, or if a login has expired.

            Examples:
              mediactl login status
              mediactl login status --server https://media.example.org --json
            """
    )

    @OptionGroup(title: "Connection options") var connection: ServerOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let list = try LoginList.open(settings)
        var rows = try list.rows(now: console.context.now())
        if settings.flags[.server] != nil || settings.flags.profile != nil {
            rows = try LogOut.places(settings).select(rows)
        }
        for row in rows { console.result(Self.record(row), [Self.line(row)]) }
        if rows.isEmpty { console.text(["not logged in"]) }
        let isGood = rows.contains(where: \.isUsable) && rows.allSatisfy { $0.isUsable || !$0.requiresLogin }
        return console.ending(isGood && !rows.contains(where: \.isExpired) ? .success : .unauthorized).summary([
            "logins": JSONValue(rows.count { $0.scheme != nil }),
            "expired": JSONValue(rows.count(where: \.isExpired)),
        ])
    }

    private static func record(_ row: LoginList.Row) -> JSONObject {
        [
            "server": .string(row.server), "service": .string(row.service), "scheme": JSONValue(row.scheme),
            "email": JSONValue(row.email), "role": JSONValue(row.role),
            "expires_at": JSONValue(row.expiresAt.map { RFC3339.text(seconds: $0) }),
            "expired": .bool(row.isExpired), "requires_login": .bool(row.requiresLogin),
        ]
    }

    /// `https://media.example.org  upload server: logged in as ann@example.org (contributor) until …`
    private static func line(_ row: LoginList.Row) -> String {
        let user = row.email.map { " as \(ErrorCatalog.clean($0))" } ?? ""
        let role = row.role.map { " (\(ErrorCatalog.clean($0)))" } ?? ""
        let time = row.expiresAt.map { RFC3339.text(seconds: $0) }
        let state =
            switch (row.scheme, row.isExpired) {
            case (nil, _): "not logged in; the server requires a login"
            case (_, true): "the login\(user) expired on \(time ?? "")"
            case ("bearer"?, _): "logged in\(user)\(role)\(time.map { " until \($0)" } ?? "")"
            default: "logged in\(user) with an API key"
            }
        return "\(ErrorCatalog.clean(row.server))  \(row.service) server: \(state)"
    }
}

struct LoginList: Sendable {
    /// A stored login, without its secret.
    struct Row: Sendable, Equatable {
        /// Address of a photo server, or origin of an upload server.
        var server: String
        /// `upload` or `photo`.
        var service: String
        /// `bearer` or `api_key`; nil if there is no login.
        var scheme: String?
        var email: String?
        var role: String?
        /// Seconds since 1970.
        var expiresAt: Int64?
        var isExpired = false
        /// Whether the upload server is known to require a login.
        var requiresLogin = false

        var isUsable: Bool { scheme != nil && !isExpired }
    }

    let logins: LoginStore
    let library: LibraryStore

    /// Opens the stores and prints their warnings.
    static func open(_ settings: SettingsSession) throws -> LoginList {
        let library = try StoreSession.library(settings, for: .writing).store
        try settings.console.requireOutput()
        return LoginList(logins: settings.logins, library: library)
    }

    /// Upload servers, then photo servers. Sends nothing.
    func rows(now: Date) throws(StoreError) -> [Row] {
        let uploads = try logins.entries().sorted { $0.key < $1.key }.map { origin, entry in
            Row(
                server: origin,
                service: "upload",
                scheme: entry.login == nil ? nil : "bearer",
                email: entry.login?.email,
                role: entry.login?.role,
                expiresAt: entry.login?.expiresAt,
                isExpired: entry.login?.isExpired(at: now) ?? false,
                requiresLogin: entry.requiresLogin
            )
        }
        let photos = try library.logins().map {
            Row(server: $0.server, service: "photo", scheme: "api_key", email: $0.email)
        }
        return uploads + photos
    }
}
