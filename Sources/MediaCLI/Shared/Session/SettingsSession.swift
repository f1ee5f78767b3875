internal import GigHive
internal import Glibc
internal import MediaStore
internal import MediaTransport

/// The settings of one run, and the paths it uses.
struct SettingsSession: Sendable {
    let console: Console
    let global: GlobalOptions
    let flags: SettingsFlags
    let settings: Settings
    let locations: SettingsLocations
    let trusts: ServerTrustKeeper

    var logins: LoginStore { LoginStore(directory: locations.dataDirectory) }

    static func open(
        _ console: Console,
        global: GlobalOptions,
        connection: some ConnectionFlags
    ) async throws(SettingsError) -> SettingsSession {
        let environment = console.context.environment
        let locations = try SettingsLocations(
            environment: environment,
            configOverride: global.config,
            dataOverride: global.dataDir
        )
        let flags = connection.flags + SettingsFlags([.color: global.color])
        let settings = try await Settings.resolve(
            flags: flags,
            environment: environment,
            locations: locations
        )
        console.use(settings.color.value)
        console.use(
            HintOptions(
                server: flags[.server],
                user: flags[.user],
                dataDirectory: global.dataDir,
                settingsFile: global.config,
                profile: flags.profile,
                choices: flags.values.filter { type(of: connection).hintKeys.contains($0.key) }
            )
        )
        for note in settings.notes { console.note(note) }
        for warning in settings.warnings {
            console.warning(warning.message, hint: warning.hint)
        }
        return SettingsSession(
            console: console,
            global: global,
            flags: flags,
            settings: settings,
            locations: locations,
            trusts: ServerTrustKeeper(
                console: console,
                settings: settings,
                path: locations.file(besideConfig: KnownServers.fileName),
                prompter: prompter(console, global)
            )
        )
    }

    /// All settings, followed by the paths, for `config show`.
    var rows: [Settings.Row] {
        settings.rows + [
            (name: "settings file", value: locations.configFile, origin: locations.configFileOrigin),
            (name: "data directory", value: locations.dataDirectory, origin: locations.dataDirectoryOrigin),
        ]
    }

    /// The server of a service; nil if none is configured. The address of an upload server must not have a path, unless
    /// `allowingPath` is set.
    func configuredServer(of service: SettingKey, allowingPath: Bool = false) throws -> ServerURL? {
        let allowsPath = allowingPath || service != .uploadsURL
        if !allowsPath, let fault = settings.uploadsURLError { throw fault }
        return try settings.addresses[service].map { try named($0.value, allowingPath: allowsPath) }
    }

    /// Whether a printed command needs `--server` to use this server: the command line specifies it, or a different
    /// server is configured, or none is. An upload server is in the token store and need not be configured.
    func needsServerOption(for baseURL: String, of service: SettingKey = .uploadsURL) -> Bool {
        guard flags[.server] == nil else { return true }
        guard let configured = settings.addresses[service]?.value else { return service != .uploadsURL }
        let server = try? ServerURL(baseURL, allowingPath: service != .uploadsURL)
        return (try? ServerURL(configured, allowingPath: true).scope) != server?.scope
    }

    private func named(_ text: String, allowingPath: Bool) throws(ServerURLError) -> ServerURL {
        let server = try ServerURL(text, allowingPath: allowingPath)
        if server.assumedScheme {
            console.trace("no scheme specified; using \(server)")
        }
        return server
    }

    /// - Throws: `UserFacingError` if no server is configured for the service; `SettingsError`, `ServerURLError`.
    func requireServer(of service: SettingKey = .uploadsURL) throws -> ServerURL {
        guard let server = try configuredServer(of: service) else { throw noServer }
        return server
    }

    var noServer: UserFacingError {
        // If there were only one profile, it would already be in use.
        let hasProfiles = settings.profile == nil && settings.otherProfiles.values.contains { !$0.origins.isEmpty }
        return UserFacingError(
            .noServer,
            "no server configured",
            hint: hasProfiles
                ? "set --server URL or --profile NAME, or default_profile in the settings"
                : "set --server URL or MEDIACTL_SERVER, or configure it in \(locations.configFile)"
        )
    }

    var timeouts: TransferTimeouts {
        TransferTimeouts(
            connect: settings.connectTimeout.value,
            stall: settings.stallTimeout.value,
            response: settings.responseTimeout.value
        )
    }

    func client(for server: ServerURL, _ authorization: Authorization?, _ http: HTTPClient) -> GigHiveClient {
        GigHiveClient(server: server, http: http, authorization: authorization, timeouts: timeouts)
    }

    var retryPolicy: RetryPolicy { RetryPolicy(retries: settings.retries.value) }

    var prompter: Prompter { Self.prompter(console, global) }

    private static func prompter(_ console: Console, _ global: GlobalOptions) -> Prompter {
        Prompter(
            context: console.context,
            isAllowed: console.context.terminal.isInteractive && !global.noInput
        )
    }
}

extension SettingsSession {
    /// A transfer loop with the settings of each server. `service` determines which servers flags and environment apply
    /// to. With `outage`, it waits for a server that is down and shows the wait.
    ///
    /// - Throws: `TransportError`; `SettingsError` for a malformed `known_servers`; `StoreError` for unusable logins;
    ///   `UserFacingError` for an unusable file of CA certificates.
    func httpClient(for service: SettingKey, surviving outage: OutageNotice? = nil) throws -> HTTPClient {
        try trusts.load()
        if let authorities = settings.caFile { try AuthorityFile.check(authorities) }
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
        configuration.waitsForRetryAfter = settings.retries.value > 0
        if outage == nil {
            let waits = WaitReport(console)
            configuration.onWait = { waits.report($0) }
        }
        if let outage {
            configuration.retry = OutageNotice.policy
            configuration.mayRetry = { outage.mayRetry($0) }
            configuration.onRetry = { outage.retrying($0) }
            configuration.observer = { [trace = configuration.observer] exchange in
                trace?(exchange)
                outage.exchanged(exchange)
            }
        }
        return try HTTPClient(configuration: configuration)
    }

    /// The upload servers that require a login. A server that a response adds is stored before any other request
    /// starts, so later processes do not send a password to that server.
    private func loginRequirements() throws -> LoginRequirements {
        LoginRequirements(try logins.requirements()) { [console, logins] origin in
            do throws(StoreError) {
                try logins.update(origin) { $0.requiresLogin = true }
            } catch {
                console.warning(
                    "cannot store that \(ErrorCatalog.clean("\(origin)")) requires a login: \(error.detail)"
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

    /// One line per request, without the query, which may contain secrets.
    private static func trace(_ exchange: ExchangeRecord, on console: Console) {
        let address = exchange.url.text.prefix { $0 != "?" }
        let outcome =
            switch exchange.outcome {
            case .success(let status): "\(status)"
            case .failure(let error): "no response (\(ErrorCatalog.foreign(error.description)))"
            }
        let metrics = exchange.metrics
        console.trace(
            "\(exchange.method.rawValue) \(address): \(outcome), \(metrics.bodyBytesSent) bytes sent, "
                + "\(metrics.bytesReceived) received, \(Formats.milliseconds(metrics.duration)) ms"
        )
    }

    /// Runs `find` in a task that a signal cancels, so an open prompt restores the terminal. `find` receives only the
    /// settings for `origin`. `flags` apply to the server of this command only.
    ///
    /// - Throws: Errors from `find`; `SettingsError`.
    func search<Found: Sendable>(
        _ flags: CredentialFlags,
        at origin: Origin,
        of service: SettingKey,
        _ dependencies: CredentialDependencies = CredentialDependencies(),
        find: @escaping @Sendable (CredentialSearch) async throws -> Found
    ) async throws -> Found {
        let console = console
        var dependencies = dependencies
        dependencies.standardInput = console.context.standardInput
        dependencies.warn = { console.warning($0) }
        if prompter.isAllowed {
            dependencies.prompt = { (question, echo) async throws(CredentialError) in
                try await PasswordPrompt.prompt(question, echo)
            }
        }
        dependencies.now = console.context.now
        let stored = service == .uploadsURL ? try logins.entry(for: origin) : LoginStore.Entry()
        let search = CredentialSearch(
            flags: flags,
            server: try trusts.server(origin, of: service),
            environment: console.context.environment,
            origin: origin,
            dependencies: dependencies,
            stored: stored
        )
        return try await console.context.interruption.canceling { try await find(search) }
    }
}

/// The file specified by `cacert`. libcurl reports an unusable file only as a failed connection.
enum AuthorityFile {
    /// Far above the size of the system's certificates; larger files are left to libcurl.
    private static let limit = 16 << 20

    static func check(_ setting: Setting<String>) throws(UserFacingError) {
        let source =
            switch setting.origin {
            case .flag: SettingKey.caFile.flag
            case .environment(let variable): variable
            case .profile, .settingsFile, .builtIn: "\(SettingKey.caFile.rawValue), \(setting.origin)"
            }
        let path = RawArguments.bytes(of: setting.value)
        let name = "\(ErrorCatalog.quoted(path)) (\(ErrorCatalog.clean(source)))"
        do throws(WholeInput.Failure) {
            guard let bytes = try content(of: path) else { return }
            guard !bytes.split(separator: UInt8(ascii: "\n")).contains(where: { $0.starts(with: "-----BEGIN ".utf8) })
            else { return }
        } catch {
            throw UserFacingError(.invalidSetting, "cannot read \(name): \(error.reason)", hint: error.hint)
        }
        throw UserFacingError(.invalidSetting, "cannot use \(name): it does not contain a certificate in PEM")
    }

    /// nil for a pipe, which can be read only once, and for a very large file.
    private static func content(of path: [UInt8]) throws(WholeInput.Failure) -> [UInt8]? {
        let descriptor = try WholeInput.opened(path)
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .system(errno) }
        guard status.st_mode & S_IFMT != S_IFDIR else { throw .system(EISDIR) }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_size <= limit else { return nil }
        return try WholeInput.all(from: descriptor, limit: limit)
    }
}
