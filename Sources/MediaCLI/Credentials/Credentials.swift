internal import MediaTransport

/// What the command line says about credentials. There is no `--password VALUE`: arguments are public.
struct CredentialFlags: Sendable, Equatable {
    var passwordStdin = false
    var passwordFile: String?
    var apiKeyFile: String?
    var apiKeyStdin = false
    /// `--no-input`: never ask.
    var noInput = false
}

/// What credentials may be asked of.
struct CredentialSurroundings: Sendable {
    /// Asks for a secret with echo off; nil when standard input is not a terminal. Gets the question.
    var prompt: (@Sendable (String) async throws(CredentialError) -> String)?
    /// Where `--password-stdin` and `--api-key-stdin` read.
    var standardInput: Int32 = 0
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
    /// - Throws: `CredentialError` (usage).
    static func refuseClearText(
        _ origin: Origin,
        allowed: Bool,
        of what: String = "credentials"
    ) throws(CredentialError) {
        guard origin.scheme == "http", !origin.isLoopback, !allowed else { return }
        throw .usage(
            "refusing to send \(what) to \(origin) unencrypted",
            hint: "use https://, or add --allow-http (allow_http: true in a profile) where the network is trusted"
        )
    }
}
