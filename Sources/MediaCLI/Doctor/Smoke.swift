internal import ArgumentParser
internal import GigHive
internal import MediaStore
internal import MediaTransport

struct Smoke: ContextCommand {
    static let schema = "mediactl.smoke/1"
    static let configuration = CommandConfiguration(
        commandName: "smoke",
        abstract: "Run an end-to-end test: upload a tiny audio file, find it, and delete it.",
        discussion: """
            Uploads one second of silence to the event "mediactl smoke test" of 2000-01-01, checks it, finds it in \
            the listing, and deletes it. No other file is ever deleted. The content of the file is different in \
            every run.

            Examples:
              mediactl smoke --server media.example.org --user uploader \\
                --password-file secret.txt
              mediactl smoke --junit smoke.xml --timeout 2m
            """
    )

    @Option(help: "Transport for the test file.")
    var transport = SmokeTransport.multipart

    @OptionGroup(title: "Checks") var checks: CheckOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: UploadConnectionOptions<ConnectionOptions>
    @OptionGroup(title: "Global options") var global: GlobalOptions

    enum SmokeTransport: String, ExpressibleByArgument, CaseIterable {
        case multipart
        case tus

        var choice: UploadOptions.TransportChoice { self == .tus ? .tus : .multipart }
    }

    func run(in console: Console) async throws -> ExitCode {
        let limit = try checks.limit()
        let settings = try await SettingsSession.open(console, global: global, connection: connection)
        let server = try settings.requireServer()
        let store = try await StoreSession.open(settings)
        let servers = try ServerSession(settings, credentials: credentials)
        let test = SmokeTest(
            uploader: store.uploader(
                try await servers.client(for: server),
                UploadOptions(
                    retry: settings.retryPolicy,
                    timeouts: settings.timeouts,
                    processingTime: min(limit, settings.settings.settleTimeout.value),
                    transport: transport.choice
                )
            ),
            sizeText: { Formats.bytes($0) }
        )
        let temporary = console.context.environment["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        let run = CheckRun(console: console, server: server.description, suite: "smoke", junit: checks.junit)
        return try await run.run(names: SmokeTest.names, limit: limit) { control, onCheck in
            await test.run(in: temporary, control: control, onCheck: onCheck)
        }
    }
}
