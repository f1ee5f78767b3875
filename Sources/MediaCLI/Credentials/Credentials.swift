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

/// Finds the proof of identity for a server.
enum Credentials {
    /// The first found of: flags, `MEDIACTL_PASSWORD`, `MEDIACTL_API_KEY` (and `…_FILE`), `password_command`, netrc,
    /// prompt.
    ///
    /// Over plain `http` to another machine it refuses before it looks anywhere, unless that is allowed.
    ///
    /// - Parameters:
    ///   - flags: The command line.
    ///   - settings: User name, `password_command` and whether plain `http` is allowed.
    ///   - environment: The process environment.
    ///   - origin: The only server that the result is ever sent to.
    ///   - surroundings: Terminal, standard input, and who is warned.
    /// - Returns: Bound to `origin`.
    /// - Throws: `CredentialError`; none of its text is secret.
    static func find(
        flags: CredentialFlags,
        settings: Settings,
        environment: [String: String],
        origin: Origin,
        surroundings: CredentialSurroundings
    ) async throws(CredentialError) -> Authorization {
        let search = CredentialSearch(
            flags: flags,
            settings: settings,
            environment: environment,
            origin: origin,
            surroundings: surroundings
        )
        return try await search.run()
    }

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
