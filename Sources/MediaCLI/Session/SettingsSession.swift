internal import GigHive
internal import MediaTransport

/// The settings of one run and the places it uses.
struct SettingsSession: Sendable {
    let console: Console
    let global: GlobalOptions
    /// What the command line says about settings.
    let flags: SettingsFlags
    let settings: Settings
    let locations: SettingsLocations
    /// How servers are verified.
    let trusts: ServerTrustKeeper

    /// The stored logins of upload servers.
    var logins: LoginStore { LoginStore(directory: locations.dataDirectory) }

    /// Finds and reads the settings.
    ///
    /// - Throws: `SettingsError`.
    static func open(
        _ console: Console,
        global: GlobalOptions,
        connection: some ConnectionFlags,
        details: DetailOptions? = nil,
        sending: SendingFlags = SendingFlags()
    ) async throws(SettingsError) -> SettingsSession {
        let environment = console.context.environment
        let locations = try SettingsLocations(
            environment: environment,
            configOverride: global.config,
            dataOverride: global.dataDir
        )
        let flags = SettingsFlags(global: global, connection: connection, details: details, sending: sending)
        let settings = try await Settings.resolve(
            flags: flags,
            environment: environment,
            locations: locations
        )
        console.use(settings.color.value)
        console.use(HintOptions(server: flags.server, user: flags.user, dataDirectory: global.dataDir))
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
                path: locations.knownServersFile,
                prompter: prompter(console, global)
            )
        )
    }

    /// A setting for `config show`.
    struct Row: Sendable, Equatable {
        var name: String
        var value: String
        var source: String
    }

    /// All settings, then the places.
    var rows: [Row] {
        settings.rows.map { Row(name: $0.name, value: $0.value, source: $0.origin.description) }
            + [
                Row(
                    name: "settings file",
                    value: locations.configFile,
                    source: locations.isConfigFileNamed ? "named" : "default"
                ),
                Row(
                    name: "data directory",
                    value: locations.dataDirectory,
                    source: global.dataDir == nil ? "default" : "flag"
                ),
            ]
    }

    /// The server of uploads; nil when nothing names one.
    var configuredServer: ServerURL? {
        get throws {
            if let fault = settings.uploadsURLFault { throw fault }
            return try settings.uploadsURL.map { try named($0.value, allowingPath: false) }
        }
    }

    private func named(_ text: String, allowingPath: Bool) throws(ServerURLError) -> ServerURL {
        let server = try ServerURL(text, allowingPath: allowingPath)
        if server.assumedScheme {
            console.trace("no scheme specified; using \(server)")
        }
        return server
    }

    /// The server of uploads.
    ///
    /// - Throws: `Diagnosis` when nothing names one; `SettingsError`, `ServerURLError`.
    func requireServer() throws -> ServerURL {
        guard let server = try configuredServer else { throw noServer }
        return server
    }

    /// The server of photos, which may live below a path.
    ///
    /// - Throws: `Diagnosis` when nothing names one; `ServerURLError`.
    func requireSyncServer() throws -> ServerURL {
        guard let text = settings.syncURL?.value else { throw noServer }
        return try named(text, allowingPath: true)
    }

    /// The server of captures, which may live below a path; nil when nothing names one.
    ///
    /// - Throws: `ServerURLError`.
    var configuredCaptureServer: ServerURL? {
        get throws(ServerURLError) {
            guard let text = settings.captureURL?.value else { return nil }
            return try named(text, allowingPath: true)
        }
    }

    /// Nothing names a server.
    var noServer: Diagnosis {
        // A single profile would be in use.
        let hasProfiles = settings.profile == nil && settings.otherProfiles.values.contains { !$0.origins.isEmpty }
        return Diagnosis(
            "no_server",
            "no server configured",
            hint: hasProfiles
                ? "set --server URL or --profile NAME, or default_profile in the settings"
                : "set --server URL or MEDIACTL_SERVER, or configure it in \(locations.configFile)",
            exitCode: .usage
        )
    }

    /// Limits of silence.
    var timeouts: TransferTimeouts {
        TransferTimeouts(
            connect: settings.connectTimeout.value,
            stall: settings.stallTimeout.value,
            answer: settings.responseTimeout.value
        )
    }

    /// Re-tries.
    var retryPolicy: RetryPolicy { RetryPolicy(retries: settings.retries.value) }

    /// Whether, and how, questions may be asked.
    var prompter: Prompter { Self.prompter(console, global) }

    private static func prompter(_ console: Console, _ global: GlobalOptions) -> Prompter {
        Prompter(
            context: console.context,
            isAllowed: console.context.terminal.isInteractive && !global.noInput
        )
    }
}
