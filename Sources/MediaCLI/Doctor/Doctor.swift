internal import ArgumentParser
internal import GigHive
internal import MediaTransport

struct Doctor: ContextCommand {
    static let schema = "mediactl.doctor/1"
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check the server: DNS, TLS, kind, health, login, role, tus, limits, clock.",
        discussion: """
            Changes nothing on the server: sends only GET, HEAD and OPTIONS, and, if an old server does not show the \
            role in any other way, one POST without file IDs. If the certificate is not trusted, the pin of its key is \
            printed for --pinned-key; compare it with the operator's before you use it.
            Without --server, checks the upload server in the settings, otherwise the photo or capture server. On a \
            photo or capture server, only DNS, TLS and kind are checked.

            Examples:
              mediactl doctor --server media.example.org --user uploader
              mediactl doctor --server https://example.org/photos
              mediactl doctor --json | jq -r 'select(.status == "failed")'
            """
    )

    @OptionGroup(title: "Checks") var checks: CheckOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let limit = try checks.limit()
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let (service, server) = try serverToCheck(settings)
        let isUpload = service == .uploadsURL && server.basePath.isEmpty
        guard isUpload || !hasCredentials else {
            throw UserFacingError.usage(
                "the user, password and API key are checked only on an upload server, whose address has no path"
            )
        }
        let servers = try ServerSession(settings, credentials: credentials, for: service)
        // A failure is reported by one of the checks.
        try? await servers.contact(server)
        let (client, missingLogin) =
            isUpload
            ? try await client(for: server, servers, console) : (await servers.anonymousClient(for: server), nil)
        let checkup = ServerCheckup(
            client: client,
            missingLogin: missingLogin,
            maximumBytes: settings.settings.maxBytes.value,
            sizeText: { Formats.bytes($0) }
        )
        let run = CheckRun(console: console, server: server.description, suite: "doctor", junit: checks.junit)
        return try await run.run(names: ServerCheckup.names, limit: limit) { _, onCheck in
            await checkup.run(onCheck: onCheck)
        }
    }

    /// The configured server, whose address may have a path. Notes list the other configured servers.
    private func serverToCheck(_ settings: SettingsSession) throws -> (service: SettingKey, server: ServerURL) {
        var servers: [(service: SettingKey, server: ServerURL)] = []
        for service in [SettingKey.uploadsURL, .syncURL, .captureURL] {
            let server = try settings.configuredServer(of: service, allowingPath: true)
            if let server, !servers.contains(where: { $0.server.description == server.description }) {
                servers.append((service, server))
            }
        }
        guard let first = servers.first else { throw settings.noServer }
        for (service, server) in servers.dropFirst() {
            let address = ErrorCatalog.clean("\(server)")
            settings.console.note("not checked: \(service.rawValue); to check it: mediactl doctor --server \(address)")
        }
        return first
    }

    private var hasCredentials: Bool {
        connection.identity.user != nil || !credentials.flags.names.isEmpty
    }

    /// Everything except `login`, `role` and `tus` can be checked without a login. An expired stored login fails the
    /// check `login`.
    private func client(
        for server: ServerURL,
        _ servers: ServerSession,
        _ console: Console
    ) async throws -> (GigHiveClient, missingLogin: GigHiveError?) {
        do {
            return (try await servers.client(for: server, isTried: false), nil)
        } catch let error as CredentialError where ExitCode(rawValue: error.exitCode) == .unauthorized {
            let anonymous = await servers.anonymousClient(for: server)
            if let expired = error.expired { return (anonymous, expired) }
            console.note("not logging in: \(ErrorCatalog.clean(error.message))")
            return (anonymous, nil)
        }
    }
}
