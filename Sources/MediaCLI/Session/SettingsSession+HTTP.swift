internal import MediaStore
internal import MediaTransport

extension SettingsSession {
    /// A transfer loop as flags and settings describe it.
    ///
    /// - Parameter service: What is asked over it: which servers flags and environment are for depends on it.
    /// - Returns: The client, which verifies each server with the settings for it.
    /// - Throws: `TransportError`; `SettingsError` for a malformed `known_servers`; `StoreError` for unusable logins.
    func httpClient(for service: SettingKey) throws -> HTTPClient {
        try trusts.load()
        var configuration = HTTPClientConfiguration(
            http2: settings.http2.value,
            retry: retryPolicy,
            maximumSendRate: settings.limitRate.value,
            userAgent: "mediactl/\(MediactlCommand.version)"
        )
        configuration.trustByOrigin = { [trusts] in trusts.trust(for: $0, of: service) }
        configuration.onUntrustedServer = { [trusts] in await trusts.decide($0, $1, of: service) }
        if service == .uploadsURL { configuration.loginRequirements = try loginRequirements() }
        if console.verbosity > 0 {
            configuration.observer = { [console] in Self.trace($0, on: console) }
        }
        return try HTTPClient(configuration: configuration)
    }

    /// The upload servers that require a login. One that a response adds is stored before any other request starts, so that
    /// no later process sends it a password.
    private func loginRequirements() throws -> LoginRequirements {
        LoginRequirements(try logins.requirements()) { [console, logins] origin in
            do throws(StoreError) {
                try logins.update(origin) { $0.requiresLogin = true }
            } catch {
                console.warning(
                    "cannot store that \(ErrorCatalogue.clean("\(origin)")) requires a login: \(error.detail)"
                )
            }
        }
    }

    /// Refuses to send secrets unencrypted, unless that is allowed for the server.
    ///
    /// - Throws: `CredentialError` (usage); `SettingsError`.
    func refuseClearText(_ origin: Origin, _ service: SettingKey, of what: String = "credentials") throws {
        let isAllowed = try trusts.server(origin, of: service).allowHTTP.value
        try Credentials.refuseClearText(
            origin,
            allowed: isAllowed,
            of: what,
            environment: console.context.environment
        )
    }

    /// One line for each exchange. The query is left out: it may hold what others should not see.
    private static func trace(_ exchange: ExchangeRecord, on console: Console) {
        let address = exchange.url.text.prefix { $0 != "?" }
        let outcome =
            switch exchange.outcome {
            case .success(let status): "\(status)"
            case .failure(let error): "no answer (\(ErrorCatalogue.foreign(error.description)))"
            }
        console.trace(
            "\(exchange.method.rawValue) \(address): \(outcome), \(exchange.bodyBytesSent) bytes sent, "
                + "\(exchange.bytesReceived) received, \(Formats.milliseconds(exchange.duration)) ms"
        )
    }
}
