internal import MediaTransport

extension SettingsSession {
    /// Looks for a secret in a task of its own, which a signal cancels: an open question then ends with the terminal as
    /// it was.
    ///
    /// - Parameters:
    ///   - flags: What the command line gives, for the server of this command.
    ///   - origin: The server that is asked.
    ///   - service: What is asked there.
    ///   - surroundings: How a login that is typed in is checked.
    ///   - find: The search; it sees only what was given for `origin`.
    /// - Returns: What it has found.
    /// - Throws: What `find` throws; `SettingsError`.
    func search<Found: Sendable>(
        _ flags: CredentialFlags,
        at origin: Origin,
        of service: SettingKey,
        _ surroundings: CredentialSurroundings = CredentialSurroundings(),
        find: @escaping @Sendable (CredentialSearch) async throws -> Found
    ) async throws -> Found {
        let console = console
        var surroundings = surroundings
        surroundings.standardInput = console.context.standardInput
        surroundings.warn = { console.warning($0) }
        if prompter.isAllowed {
            surroundings.prompt = { (question, echo) async throws(CredentialError) in
                try await PasswordPrompt.ask(question, echo)
            }
        }
        let search = CredentialSearch(
            flags: flags,
            server: try trusts.server(origin, of: service),
            environment: console.context.environment,
            origin: origin,
            surroundings: surroundings
        )
        return try await console.context.interruption.cancelling { try await find(search) }
    }
}
