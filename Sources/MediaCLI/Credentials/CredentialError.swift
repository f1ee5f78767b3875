/// No usable credentials. The secret itself is never part of it.
struct CredentialError: Error, Sendable, Equatable {
    /// 2 for wrong usage, 4 when there is nothing to log in with, 130 when a prompt was interrupted.
    var exitCode: Int32
    /// Lower case, no full stop.
    var message: String
    /// What to do next.
    var hint: String?

    static func usage(_ message: String, hint: String? = nil) -> CredentialError {
        CredentialError(exitCode: 2, message: message, hint: hint)
    }

    static func notAuthenticated(_ message: String, hint: String? = nil) -> CredentialError {
        CredentialError(exitCode: 4, message: message, hint: hint)
    }
}
