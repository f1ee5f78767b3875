internal import MediaCore
internal import MediaFiles

/// Photo servers know API keys, which are issued or kept from a login, and passwords only to log in with.
extension CredentialSearch {
    /// The API key that flags or environment give; nil when neither does. Passwords do not count.
    ///
    /// - Throws: `CredentialError`.
    func givenKey() async throws(CredentialError) -> String? {
        try Credentials.refuseClearText(origin, allowed: server.allowHTTP.value, environment: environment)
        guard !flags.apiKeyStdin || flags.apiKeyFile == nil else {
            throw .usage("only one of --api-key-stdin and --api-key-file can be used")
        }
        if server.takesFlags {
            if flags.apiKeyStdin { return try Self.checked(try await secretOnStandardInput("the API key")) }
            if let path = flags.apiKeyFile {
                return try Self.checked(try await secret(inFile: path, source: "--api-key-file"))
            }
        }
        guard server.takesEnvironment else { return nil }
        if let key = variable("MEDIACTL_API_KEY") { return try Self.checked(key) }
        if let path = variable("MEDIACTL_API_KEY_FILE") {
            return try Self.checked(try await secret(inFile: path, source: "MEDIACTL_API_KEY_FILE"))
        }
        return nil
    }

    /// The API key to log in with; a terminal is asked for one that nothing gives.
    ///
    /// - Parameter address: Address of the server, for the prompt.
    /// - Returns: The key, fit for a header field.
    /// - Throws: `CredentialError`.
    func keyToKeep(for address: String) async throws(CredentialError) -> String {
        if let key = try await givenKey() { return key }
        guard let prompt = surroundings.prompt, !flags.noInput else {
            throw .notAuthenticated(
                "no API key for \(address)",
                hint: "set an issued key with --api-key-stdin, --api-key-file FILE or MEDIACTL_API_KEY"
            )
        }
        let key = try await prompt("API key for \(TerminalText.escaped(address)): ", .hidden)
        return try Self.checked(key.filter { !$0.isWhitespace })
    }

    /// The password that belongs to an e-mail address: flags, `MEDIACTL_PASSWORD` (and `…_FILE`), then the configured
    /// sources, then a prompt.
    ///
    /// - Parameters:
    ///   - email: The user.
    ///   - address: Address of the server, for the prompt.
    ///   - isConfigured: Whether `password_command` and netrc may have it.
    /// - Returns: The password.
    /// - Throws: `CredentialError`.
    func password(
        for email: String,
        at address: String,
        isConfigured: Bool = false
    ) async throws(CredentialError) -> String {
        try Credentials.refuseClearText(origin, allowed: server.allowHTTP.value, environment: environment)
        guard !flags.passwordStdin || flags.passwordFile == nil else {
            throw .usage("only one of --password-stdin and --password-file can be used")
        }
        if server.takesFlags {
            if flags.passwordStdin { return try await secretOnStandardInput("the password") }
            if let path = flags.passwordFile { return try await secret(inFile: path, source: "--password-file") }
        }
        if server.takesEnvironment {
            if let password = variable("MEDIACTL_PASSWORD") { return password }
            if let path = variable("MEDIACTL_PASSWORD_FILE") {
                return try await secret(inFile: path, source: "MEDIACTL_PASSWORD_FILE")
            }
        }
        if isConfigured {
            if let password = try await fromCommand() { return password }
            if let entry = try await netrcEntry(), let password = entry.password { return password }
        }
        guard let prompt = surroundings.prompt, !flags.noInput else {
            throw .notAuthenticated(
                "no password for \(TerminalText.escaped(email))",
                hint: "use --password-stdin, --password-file FILE or MEDIACTL_PASSWORD"
            )
        }
        return try await prompt(
            "Password for \(TerminalText.escaped(email)) at \(TerminalText.escaped(address)): ",
            .hidden
        )
    }
}
