internal import MediaTransport

/// What the command line says about credentials.
struct CredentialFlags: Sendable, Equatable {
    var passwordStdin = false
    var passwordFile: String?
    var apiKeyFile: String?
    /// `--no-input`: never ask.
    var noInput = false
}

/// What credentials may be asked of.
struct CredentialSurroundings: Sendable {
    /// Asks for a secret with echo off; nil when standard input is not a terminal. Gets the question.
    var prompt: (@Sendable (String) async throws(CredentialError) -> String)?
    /// Where `--password-stdin` reads.
    var standardInput: Int32 = 0
    /// Told once for each thing that is unwise but allowed. Lower case, no full stop.
    var warn: @Sendable (String) -> Void = { _ in }
}

/// No usable credentials. The secret itself is never part of it.
struct CredentialError: Error, Sendable, Equatable {
    /// 2 for wrong usage, 4 when there is nothing to log in with, 130 when a prompt was interrupted.
    var exitCode: Int32
    /// Lower case, no full stop.
    var message: String
    /// What to do next.
    var hint: String?
}

/// Finds the proof of identity for a server.
enum Credentials {
    /// The first found of: flags, `MEDIACTL_PASSWORD`, `MEDIACTL_API_KEY` (and `…_FILE`), `password_command`, netrc,
    /// prompt. Over plain `http` to another machine it refuses before it looks anywhere, unless that is allowed.
    static func find(
        flags: CredentialFlags, settings: Settings, environment: [String: String], origin: Origin,
        surroundings: CredentialSurroundings
    ) async throws(CredentialError) -> Authorization {
        throw CredentialError(exitCode: 4, message: "not implemented")
    }
}
