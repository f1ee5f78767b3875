internal import MediaTransport

extension SettingsSession {
    /// Looks for a secret in a task of its own, which a signal cancels: an open question then ends with the terminal as
    /// it was.
    func search<Found: Sendable>(
        _ flags: CredentialFlags,
        at origin: Origin,
        _ find: @escaping @Sendable (CredentialSearch) async throws -> Found
    ) async throws -> Found {
        let console = console
        var surroundings = CredentialSurroundings(
            standardInput: console.context.standardInput,
            warn: { console.warning($0) }
        )
        if prompter.isAllowed {
            surroundings.prompt = { (question) async throws(CredentialError) in try await PasswordPrompt.ask(question) }
        }
        let search = CredentialSearch(
            flags: flags,
            settings: settings,
            environment: console.context.environment,
            origin: origin,
            surroundings: surroundings
        )
        return try await console.context.interruption.cancelling { try await find(search) }
    }
}
