internal import GigHive
internal import MediaCore
internal import MediaTransport

/// Creates clients for servers: one transfer loop for all servers, one search for credentials per server.
actor ServerSession {
    private let settings: SettingsSession
    private let service: SettingKey
    private let credentials: CredentialFlags
    private let http: HTTPClient
    private var clients: [ServerURL: GigHiveClient] = [:]

    /// Starts the transfer loop. `service` is the setting that contains the address of the server.
    init(
        _ settings: SettingsSession,
        credentials: CredentialOptions,
        for service: SettingKey = .uploadsURL
    ) throws {
        self.settings = settings
        self.service = service
        self.credentials = credentials.flags
        http = try settings.httpClient(for: service)
    }

    /// A client with credentials, from a prompt if necessary. For a server other than the command's, only credentials
    /// for that server are used. `retryCommand` is used in the hint and does not contain `--server`. With `isTried`, a
    /// login entered at a prompt is checked for the permission to upload.
    ///
    /// - Throws: `CredentialError`, `SettingsError`; `GigHiveError` if the server cannot be reached before a prompt.
    func client(
        for server: ServerURL,
        retryCommand: String? = nil,
        isTried: Bool = true
    ) async throws -> GigHiveClient {
        if let client = clients[server] {
            return client
        }
        if isTried { try await contact(server) }
        var dependencies = CredentialDependencies()
        dependencies.retryCommand = retryCommand
        if isTried {
            let anonymous = anonymousClient(for: server)
            dependencies.beforePrompt = { try await Self.reach(anonymous) }
            dependencies.isAccepted = { [settings, http] authorization in
                await Self.isAccepted(settings.client(for: server, authorization, http))
            }
        }
        let authorization = try await settings.search(credentials, at: server.origin, of: service, dependencies) {
            try await $0.run()
        }
        let console = settings.console
        console.trace("using \(TerminalText.escaped("\(authorization)")) for \(server)")
        let client = settings.client(for: server, authorization, http)
        clients[server] = client
        return client
    }

    /// A client without credentials, for checks and for guests.
    func anonymousClient(for server: ServerURL) -> GigHiveClient {
        settings.client(for: server, nil, http)
    }

    /// A client for a guest, whose requests contain a secret instead of a login.
    ///
    /// - Throws: `CredentialError` if the secret would be sent unencrypted; `SettingsError`.
    func guestClient(for server: ServerURL) throws -> GigHiveClient {
        try settings.refuseClearText(server.origin, service)
        return anonymousClient(for: server)
    }

    /// Connects to the server, which may cause a prompt about its certificate, before any other prompt or output. Does
    /// nothing if no prompt is possible.
    ///
    /// - Throws: `GigHiveError` if there is no response.
    func contact(_ server: ServerURL) async throws {
        guard settings.trusts.mayPrompt(about: server.origin, of: service) else { return }
        try await Self.reach(anonymousClient(for: server))
    }

    // MARK: Prompted logins

    /// Connects to the server before the password prompt. Any response is sufficient.
    private static func reach(_ client: GigHiveClient) async throws {
        do {
            _ = try await client.health()
        } catch {
            // An error response is reported by the command itself.
            if error.httpStatus == nil, error.transport != nil { throw error }
        }
    }

    /// Whether the server accepts the login, and its user may upload; true if that cannot be determined.
    private static func isAccepted(_ client: GigHiveClient) async -> Bool {
        do {
            _ = try await client.asset(Int64.max)
            return true
        } catch {
            return error.code != .unauthorized
        }
    }
}
