import ArgumentParser
import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// Issues and checks logins as the drafts describe them (gighive-d4 contract section 12). They end with the process.
final class LoginBook: Sendable {
    /// The roles of the drafts.
    enum Role: String, Sendable {
        case owner, contributor, viewer, platform

        init(email: String) {
            self = Role(rawValue: String(email.prefix { $0 != "@" })) ?? .contributor
        }

        /// The user of Basic with the same rights (gighive contract 1).
        var account: String {
            switch self {
            case .owner, .platform: "admin"
            case .contributor: "uploader"
            case .viewer: "viewer"
            }
        }
    }

    private struct Login: Sendable {
        var email: String
        var expiresAt: Date
    }

    private enum Finding {
        case none
        case invalid
        case expired
        case valid(Login)
    }

    private let settings: LoginSettings
    private let logins = Mutex<[String: Login]>([:])

    init(_ settings: LoginSettings) {
        self.settings = settings
    }

    /// The user of Basic with the rights of the login in an `Authorization` header; nil for anything else.
    func user(_ header: String?) -> String? {
        guard case .valid(let login) = find(header) else { return nil }
        return Role(email: login.email).account
    }

    /// Makes every login invalid.
    ///
    /// - Returns: How many there were.
    func revokeAll() -> Int {
        logins.withLock { logins in
            defer { logins = [:] }
            return logins.count
        }
    }

    // MARK: Replies

    static let paths: Set<String> = ["/api/login.php", "/api/verify.php"]

    /// Wrong role and missing login are different responses; HEAD gets the fields only.
    static func refusal(of exchange: Exchange) -> Reply {
        let (status, error): (HTTPResponse.Status, String) =
            exchange.user == nil ? (.unauthorized, "unauthenticated") : (.forbidden, "forbidden")
        guard exchange.request.method == .head else { return .json(status, ["error": .string(error)]) }
        return Reply(
            status: status,
            origin: .webServer,
            body: .empty,
            headers: [("Content-Type", "application/json")]
        )
    }

    /// `POST /api/login.php` and `GET /api/verify.php`.
    func reply(to exchange: Exchange) async throws -> Reply {
        if exchange.path == "/api/verify.php" {
            try await exchange.readBody { _ in }
            return verification(exchange.request.headers[.authorization])
        }
        let body = try await exchange.collectBody(upTo: 1 << 16)
        guard exchange.request.method == .post else { return .json(.methodNotAllowed, ["error": "method_not_allowed"]) }
        guard case .object(let members)? = try? ReceivedJSON(Array(body.readableBytesView)),
            case .string(let email)? = members.first(where: { $0.key == "email" })?.value,
            case .string(let password)? = members.first(where: { $0.key == "password" })?.value,
            !email.isEmpty, !password.isEmpty
        else { return .json(.badRequest, ["error": "missing_fields"]) }
        return logIn(email, password)
    }

    private func logIn(_ email: String, _ password: String) -> Reply {
        guard email.wholeMatch(of: /[^@\s]+@[^@\s]+\.[^@\s]+/) != nil else {
            return .json(.badRequest, ["error": "invalid_email"])
        }
        guard settings.users.contains(Account(name: email, password: password)) else {
            return .json(.unauthorized, ["error": "invalid_credentials"])
        }
        guard !email.hasPrefix("disabled@") else { return .json(.forbidden, ["error": "account_disabled"]) }
        let token = hexString(markedRandomBytes(32))
        let expiresAt = Date() + settings.lifetime
        logins.withLock { $0[token] = Login(email: email, expiresAt: expiresAt) }
        return .json(
            .ok,
            [
                "token": .string(token), "role": .string(Role(email: email).rawValue), "email": .string(email),
                "expires_at": .string(expiresAt.formatted(.iso8601)),
            ]
        )
    }

    private func verification(_ header: String?) -> Reply {
        switch find(header) {
        case .none: .json(.unauthorized, ["error": "unauthenticated"])
        case .invalid: .json(.unauthorized, ["error": "invalid_token"])
        case .expired: .json(.unauthorized, ["error": "token_expired"])
        case .valid(let login):
            .json(
                .ok,
                [
                    "valid": true, "email": .string(login.email),
                    "role": .string(Role(email: login.email).rawValue),
                    "expires_at": .string(login.expiresAt.formatted(.iso8601)),
                ]
            )
        }
    }

    private func find(_ header: String?) -> Finding {
        guard let header, header.lowercased().hasPrefix("bearer ") else { return .none }
        let token = header.dropFirst("bearer ".count).trimmingCharacters(in: .whitespaces)
        guard let login = logins.withLock({ $0[token] }) else { return .invalid }
        return login.expiresAt > Date() ? .valid(login) : .expired
    }
}

/// How the sandbox authenticates the users of GigHive.
enum AuthScheme: String, Sendable, CaseIterable, ExpressibleByArgument {
    /// User names and passwords, as every server that was observed.
    case basic
    /// Logins, as the drafts of 2026-09-09 describe them (gighive-d4 contract section 12).
    case bearer
}

/// The arguments about logins.
struct LoginArguments: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            How users authenticate: basic, or bearer as in GigHive's drafts of 2026-09-09 (planned, never observed). With \
            bearer, users are e-mail addresses (owner@example.org:owner, contributor@example.org:contributor, \
            viewer@example.org:viewer; --user adds others). The part before the @ is the role: owner, platform, viewer, \
            otherwise contributor; "disabled" is a disabled account.
            """,
            valueName: "scheme"
        )
    )
    var auth = AuthScheme.basic

    @Option(help: ArgumentHelp("Lifetime of a login (default: 2592000, 30 days).", valueName: "seconds"))
    var loginLifetime: Double?

    func validate() throws {
        guard loginLifetime == nil || auth == .bearer else {
            throw ValidationError("--login-lifetime has no effect without --auth bearer")
        }
        guard loginLifetime.map({ (-86_400...1e9).contains($0) }) ?? true else {
            throw ValidationError("--login-lifetime is a number of seconds; a negative one has expired already")
        }
    }

    /// The logins of the sandbox; nil for Basic.
    func settings(_ users: [Account]) throws -> LoginSettings? {
        guard auth == .bearer else { return nil }
        if let user = users.first(where: { !$0.name.contains("@") }) {
            throw ValidationError("--user \(user.name): users are e-mail addresses with --auth bearer")
        }
        let named = Set(users.map(\.name))
        let all = LoginSettings.defaultUsers.filter { !named.contains($0.name) } + users
        return LoginSettings(users: all, lifetime: loginLifetime ?? 30 * 86_400)
    }
}

/// Users and lifetime of logins.
struct LoginSettings: Sendable {
    /// Names are e-mail addresses.
    var users: [Account]
    /// Seconds.
    var lifetime: Double

    static let defaultUsers = ["owner", "contributor", "viewer"].map {
        Account(name: "\($0)@example.org", password: $0)
    }
}
