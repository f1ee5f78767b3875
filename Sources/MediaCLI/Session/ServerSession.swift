internal import GigHive
internal import MediaFiles
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
    func client(for server: ServerURL) async throws -> GigHiveClient {
        if let client = clients[server] {
            return client
        }
        let authorization = try await settings.search(credentials, at: server.origin) { try await $0.run() }
        let console = settings.console
        console.trace("using \(TerminalText.escaped("\(authorization)")) for \(server)")
        let client = GigHiveClient(
            server: server,
            http: http,
            authorization: authorization,
            timeouts: settings.timeouts
        )
        clients[server] = client
        return client
    }

    /// A client that sends nothing, for checks that need an address only.
    func anonymousClient(for server: ServerURL) -> GigHiveClient {
        GigHiveClient(server: server, http: http, authorization: nil, timeouts: settings.timeouts)
    }
}
