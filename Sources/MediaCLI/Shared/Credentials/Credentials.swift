internal import Foundation
internal import GigHive
internal import MediaCore
internal import MediaTransport

/// What the command line says about credentials. There is no `--password VALUE`: arguments are public.
struct CredentialFlags: Sendable, Equatable {
    var passwordStdin = false
    var passwordFile: String?
    var apiKeyFile: String?
    var apiKeyStdin = false
    /// `--no-input`: never ask.
    var noInput = false

    /// Whether any flag specifies a password or key.
    var hasSecret: Bool { passwordStdin || passwordFile != nil || apiKeyFile != nil || apiKeyStdin }
}

/// What credentials may be asked of.
struct CredentialSurroundings: Sendable {
    /// Prompts on the terminal; nil if standard input is not a terminal.
    var prompt: (@Sendable (_ question: String, PasswordPrompt.Echo) async throws(CredentialError) -> String)?
    /// Called once before the first login prompt, so that there is no prompt for an unreachable server.
    var beforePrompt: @Sendable () async throws -> Void = {}
    /// Whether the server accepts a login entered at a prompt; true if that cannot be determined.
    var isAccepted: @Sendable (Authorization) async -> Bool = { _ in true }
    /// The command to run again for a server from the store, without its `--server`; for the hint.
    var retryCommand: String?
    /// Where `--password-stdin` and `--api-key-stdin` read.
    var standardInput: Int32 = 0
    /// The wall clock, for the expiry of a stored login.
    var now: @Sendable () -> Date = { Date() }
    /// Told once for each thing that is unwise but allowed. Lower case, no full stop.
    var warn: @Sendable (String) -> Void = { _ in }
}

/// Where credentials may go.
enum Credentials {
    /// Refuses to let a secret travel where others can read it.
    ///
    /// - Parameters:
    ///   - origin: Where it would go.
    ///   - allowed: Whether the user allows it.
    ///   - what: What would go.
    ///   - environment: May set a proxy, which is another machine even for a server on this one.
    /// - Throws: `CredentialError` (usage).
    static func refuseClearText(
        _ origin: Origin,
        allowed: Bool,
        of what: String = "credentials",
        environment: [String: String]
    ) throws(CredentialError) {
        guard origin.scheme == "http", !allowed else { return }
        if origin.isLoopback {
            guard let variable = ProxyChoice.variable(for: origin, in: { environment[$0] }) else { return }
            throw .usage(
                "refusing to send \(what) to \(origin) unencrypted through the proxy set by \(variable)",
                hint: "run: export no_proxy=\"$no_proxy,\(origin.host.filter { !"[]".contains($0) })\""
            )
        }
        throw .usage(
            "refusing to send \(what) to \(origin) unencrypted",
            hint: "use https://, or add --allow-http (allow_http: true in a profile) on a trusted network"
        )
    }
}

/// No usable credentials. The secret itself is never part of it.
struct CredentialError: Error, Sendable, Equatable {
    /// 2 for wrong usage, 4 when there is nothing to log in with, 130 when a prompt was interrupted.
    var exitCode: Int32
    /// Lower case, no full stop.
    var message: String
    /// What to do next.
    var hint: String?
    /// The code of the outcome; nil for that of the exit code.
    var code: OutcomeCode?
    /// The stored login that expired.
    var expired: GigHiveError?

    static func == (one: CredentialError, other: CredentialError) -> Bool {
        (one.exitCode, one.message, one.hint, one.code) == (other.exitCode, other.message, other.hint, other.code)
    }

    static func usage(_ message: String, hint: String? = nil) -> CredentialError {
        CredentialError(exitCode: 2, message: message, hint: hint)
    }

    static func notAuthenticated(_ message: String, hint: String? = nil) -> CredentialError {
        CredentialError(exitCode: 4, message: message, hint: hint)
    }

    /// The server requires a login, and there is none.
    static func loginRequired(_ origin: Origin, hint: String? = nil) -> CredentialError {
        CredentialError(
            exitCode: 4,
            message: "\(origin) requires a login, not a password; nothing was sent",
            hint: hint ?? loginCommand(origin),
            code: .loginRequired
        )
    }

    /// The stored login belongs to another user than the specified one.
    static func loginOfAnother(_ origin: Origin, email: String, user: String) -> CredentialError {
        CredentialError(
            exitCode: 4,
            message: "the stored login for \(origin) belongs to \(email), not to \(user); nothing was sent",
            hint: "\(loginCommand(origin)) --user \(HintOptions.word(user))",
            code: .loginRequired
        )
    }

    /// The stored login expired.
    static func loginExpired(_ origin: Origin, at time: Int64) -> CredentialError {
        CredentialError(
            exitCode: 4,
            message: "the login for \(origin) expired on \(RFC3339.text(seconds: time))",
            hint: loginCommand(origin),
            code: .loginExpired,
            expired: .login(.loginExpired, at: origin, expiredAt: time)
        )
    }

    /// The command that logs in.
    static func loginCommand(_ origin: Origin) -> String { "mediactl login --server \(HintOptions.word("\(origin)"))" }
}
