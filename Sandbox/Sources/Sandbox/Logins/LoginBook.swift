import ArgumentParser
import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore
import Synchronization

/// Issues and checks logins as in the drafts (gighive-d4 contract section 12). They are kept in memory.
final class LoginBook: Sendable {
    private struct Login: Sendable {
        var email: String
        var expiresAt: Date

        var role: String {
            let name = String(email.prefix { $0 != "@" })
            return ["owner", "viewer", "platform"].contains(name) ? name : "contributor"
        }

        /// The Basic user with the same rights (gighive contract 1).
        var account: String { ["contributor": "uploader", "viewer": "viewer"][role] ?? "admin" }

        func response(_ key: String, _ value: JSONValue) -> Response {
            let facts: JSONValue = [
                "email": .string(email), "role": .string(role), "expires_at": .string(expiresAt.formatted(.iso8601)),
            ]
            return .json(.ok, .object([.init(key: key, value: value)] + (facts.members ?? [])))
        }
    }

    private let users: [Account]
    private let lifetime: Double
    private let logins = Mutex<[String: Login]>([:])

    init(users: [Account], lifetime: Double) {
        self.users = users
        self.lifetime = lifetime
    }

    /// The Basic user with the rights of the login in an `Authorization` header; nil for anything else.
    func user(_ header: String?) -> String? { find(header).login?.account }

    /// Revokes all logins, and returns their number.
    func revokeAll() -> Int {
        logins.withLock { logins in
            defer { logins = [:] }
            return logins.count
        }
    }

    static let paths: Set<String> = ["/api/login.php", "/api/verify.php"]

    /// A wrong role and a missing login have different responses; HEAD gets only the header fields.
    static func refusal(of exchange: Exchange) -> Response {
        let response = exchange.user == nil ? error(.unauthorized, "unauthenticated") : error(.forbidden, "forbidden")
        guard exchange.request.method == .head else { return response }
        return Response(response.status, .webServer, .empty, [("Content-Type", "application/json")])
    }

    func response(to exchange: Exchange) async throws -> Response {
        let body = try await exchange.collectBody(upTo: 1 << 16)
        if exchange.path == "/api/verify.php" { return verification(exchange.request.headers[.authorization]) }
        guard exchange.request.method == .post else { return Self.error(.methodNotAllowed, "method_not_allowed") }
        let fields = try? JSONValue(Array(body.readableBytesView))
        guard let email = fields?["email"]?.string, let password = fields?["password"]?.string, !email.isEmpty,
            !password.isEmpty
        else { return Self.error(.badRequest, "missing_fields") }
        return logIn(email, password)
    }

    private static func error(_ status: HTTPResponse.Status, _ code: String) -> Response {
        .json(status, ["error": .string(code)])
    }

    private func logIn(_ email: String, _ password: String) -> Response {
        guard email.wholeMatch(of: /[^@\s]+@[^@\s]+\.[^@\s]+/) != nil else {
            return Self.error(.badRequest, "invalid_email")
        }
        guard users.contains(Account(name: email, password: password)) else {
            return Self.error(.unauthorized, "invalid_credentials")
        }
        guard !email.hasPrefix("disabled@") else { return Self.error(.forbidden, "account_disabled") }
        let token = newSecret()
        let login = Login(email: email, expiresAt: Date() + lifetime)
        logins.withLock { $0[token] = login }
        return login.response("token", .string(token))
    }

    private func verification(_ header: String?) -> Response {
        let (login, code) = find(header)
        guard let login else { return Self.error(.unauthorized, code) }
        return login.response("valid", true)
    }

    /// The login in an `Authorization` header, or the code of its refusal.
    private func find(_ header: String?) -> (login: Login?, code: String) {
        guard let header, header.lowercased().hasPrefix("bearer ") else { return (nil, "unauthenticated") }
        let token = header.dropFirst("bearer ".count).trimmingCharacters(in: .whitespaces)
        guard let login = logins.withLock({ $0[token] }) else { return (nil, "invalid_token") }
        return login.expiresAt > Date() ? (login, "") : (nil, "token_expired")
    }
}

struct LoginArguments: ParsableArguments {
    enum Scheme: String, Sendable, CaseIterable, ExpressibleByArgument {
        /// User names and passwords, as on all observed servers.
        case basic
        /// Logins as in the drafts of 2026-09-09 (gighive-d4 contract section 12).
        case bearer
    }

    @Option(
        help: """
            How users authenticate: basic, or bearer as in GigHive's drafts of 2026-09-09 (planned, never observed). With \
            bearer, users are email addresses (owner@example.org:owner, contributor@example.org:contributor, \
            viewer@example.org:viewer; --user adds others). The part before the @ is the role: owner, platform, viewer, \
            otherwise contributor; "disabled" is a disabled account.
            """
    )
    var auth = Scheme.basic

    @Option(help: "Lifetime of a login in seconds (default: 2592000, 30 days).")
    var loginLifetime: Double?

    func validate() throws {
        guard loginLifetime == nil || auth == .bearer else {
            throw ValidationError("--login-lifetime has no effect without --auth bearer")
        }
        guard loginLifetime.map({ (-86_400...1e9).contains($0) }) ?? true else {
            throw ValidationError("--login-lifetime must be a number of seconds; negative for an expired login")
        }
    }

    func book(_ users: [Account]) throws -> LoginBook? {
        guard auth == .bearer else { return nil }
        if let user = users.first(where: { !$0.name.contains("@") }) {
            throw ValidationError("--user \(user.name): must be an email address with --auth bearer")
        }
        let defaults = ["owner", "contributor", "viewer"].map { Account(name: $0 + "@example.org", password: $0) }
        let named = Set(users.map(\.name))
        return LoginBook(
            users: defaults.filter { !named.contains($0.name) } + users,
            lifetime: loginLifetime ?? 30 * 86_400
        )
    }
}
