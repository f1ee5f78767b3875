import ArgumentParser

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
