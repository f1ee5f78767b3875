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
        let values = settings.settings
        http = try HTTPClient(
            configuration: HTTPClientConfiguration(
                trust: ServerTrust(
                    caFile: values.caFile?.value,
                    pinnedKey: values.pinnedKey?.value,
                    insecure: values.insecure.value
                ),
                http2: values.http2.value,
                retry: settings.retryPolicy,
                maximumSendRate: values.limitRate.value,
                userAgent: "mediactl/\(MediactlCommand.version)"
            )
        )
    }

    /// A client that is logged in as soon as it is used; asks for the password where that is allowed.
    ///
    /// - Throws: `CredentialError`.
    func client(for server: ServerURL) async throws(CredentialError) -> GigHiveClient {
        if let client = clients[server] {
            return client
        }
        let console = settings.console
        let isAsking = console.context.terminal.isInteractive && !settings.global.noInput
        let authorization = try await Credentials.find(
            flags: credentials,
            settings: settings.settings,
            environment: console.context.environment,
            origin: server.origin,
            surroundings: CredentialSurroundings(
                prompt: isAsking ? PasswordPrompt.ask : nil,
                standardInput: console.context.standardInput,
                warn: { console.warning($0) }
            )
        )
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

    /// A client that sends nothing, for checks that need an address only.
    func anonymousClient(for server: ServerURL) -> GigHiveClient {
        GigHiveClient(server: server, http: http, authorization: nil, timeouts: settings.timeouts)
    }

    /// Ends the transfer loop.
    func shutdown() {
        http.shutdown()
    }
}
