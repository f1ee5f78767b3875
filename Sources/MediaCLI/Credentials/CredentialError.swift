internal import GigHive
internal import MediaCore
internal import MediaTransport

/// No usable credentials. The secret itself is never part of it.
struct CredentialError: Error, Sendable, Equatable {
    /// 2 for wrong usage, 4 when there is nothing to log in with, 130 when a prompt was interrupted.
    var exitCode: Int32
    /// Lower case, no full stop.
    var message: String
    /// What to do next.
    var hint: String?
    /// The code of the outcome; nil for that of the exit code.
    var code: String?
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
            code: "login_required"
        )
    }

    /// The stored login belongs to another user than the specified one.
    static func loginOfAnother(_ origin: Origin, email: String, user: String) -> CredentialError {
        CredentialError(
            exitCode: 4,
            message: "the stored login for \(origin) belongs to \(email), not to \(user); nothing was sent",
            hint: "\(loginCommand(origin)) --user \(HintOptions.word(user))",
            code: "login_required"
        )
    }

    /// The stored login expired.
    static func loginExpired(_ origin: Origin, at time: Int64) -> CredentialError {
        CredentialError(
            exitCode: 4,
            message: "the login for \(origin) expired on \(RFC3339.text(seconds: time))",
            hint: loginCommand(origin),
            code: "login_expired",
            expired: .login(.loginExpired, at: origin, expiredAt: time)
        )
    }

    /// The command that logs in.
    static func loginCommand(_ origin: Origin) -> String { "mediactl login --server \(HintOptions.word("\(origin)"))" }
}
