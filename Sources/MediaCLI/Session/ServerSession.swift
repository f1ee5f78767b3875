internal import GigHive
internal import MediaTransport

/// Makes clients for servers: one transfer loop for all of them, credentials found once a server.
actor ServerSession {
    private let settings: SettingsSession
    private let credentials: CredentialFlags
    private let http: HTTPClient
    private var clients: [ServerURL: GigHiveClient] = [:]

    /// Starts the transfer loop.
    ///
    /// - Throws: `TransportError`.
    init(_ settings: SettingsSession, credentials: CredentialOptions) throws(TransportError) {
        self.settings = settings
        self.credentials = credentials.flags(noInput: settings.global.noInput)
        http = try settings.httpClient()
    }

    /// A client that is logged in as soon as it is used; asks for the password where that is allowed.
    ///
    /// - Throws: `CredentialError`.
    func client(for server: ServerURL) async throws(CredentialError) -> GigHiveClient {
        if let client = clients[server] {
            return client
        }
        let authorization = try await authorization(for: server.origin).get()
        let console = settings.console
        console.trace("using \(authorization) for \(server)")
        let client = GigHiveClient(
            server: server,
            http: http,
            authorization: authorization,
            timeouts: settings.timeouts
        )
        clients[server] = client
        return client
    }

    /// Looks for credentials in a task of its own, which a signal cancels: an open question then ends with the terminal
    /// as it was.
    private func authorization(for origin: Origin) async -> Result<Authorization, CredentialError> {
        let console = settings.console
        let values = settings.settings
        let credentials = credentials
        var surroundings = CredentialSurroundings(
            standardInput: console.context.standardInput,
            warn: { console.warning($0) }
        )
        if settings.prompter.isAllowed {
            surroundings.prompt = { (question) async throws(CredentialError) in try await PasswordPrompt.ask(question) }
        }
        let search = Task { [surroundings] () -> Result<Authorization, CredentialError> in
            do throws(CredentialError) {
                return .success(
                    try await Credentials.find(
                        flags: credentials,
                        settings: values,
                        environment: console.context.environment,
                        origin: origin,
                        surroundings: surroundings
                    )
                )
            } catch {
                return .failure(error)
            }
        }
        return await console.context.interruption.handling({ _ in search.cancel() }) { await search.value }
    }

    /// A client that sends nothing, for checks that need an address only.
    func anonymousClient(for server: ServerURL) -> GigHiveClient {
        GigHiveClient(server: server, http: http, authorization: nil, timeouts: settings.timeouts)
    }

    /// Ends the transfer loop.
    func shutdown() {
        http.shutdown()
    }
}
