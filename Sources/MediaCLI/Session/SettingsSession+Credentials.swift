internal import MediaTransport

extension SettingsSession {
    /// Looks for a secret in a task of its own, which a signal cancels: an open question then ends with the terminal as
    /// it was.
    ///
    /// - Parameters:
    ///   - flags: The credentials from the command line, for the server of this command.
    ///   - origin: The server.
    ///   - service: The service that is used there.
    ///   - surroundings: How a prompted login is checked.
    ///   - find: The search; it gets only the settings for `origin`.
    /// - Returns: The result of `find`.
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
        surroundings.now = console.context.now
        let stored = service == .uploadsURL ? try logins.entry(for: origin) : LoginStore.Entry()
        let search = CredentialSearch(
            flags: flags,
            server: try trusts.server(origin, of: service),
            environment: console.context.environment,
            origin: origin,
            surroundings: surroundings,
            stored: stored
        )
        return try await console.context.interruption.cancelling { try await find(search) }
    }
}
