internal import ArgumentParser
internal import GigHive

/// `mediactl media show ID`
struct MediaShow: ContextCommand {
    static let schema = "mediactl.media-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a file on a server and all its events.",
        discussion: """
            Example:
              mediactl media show 18
            """
    )

    @Argument(help: ArgumentHelp("ID of the file on the server.", valueName: "id"))
    var id: Int64

    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Connection options") var connection: ConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard id > 0 else { throw ValidationError("An ID must be 1 or more.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await MediaSession.open(
            console,
            global: global,
            connection: connection,
            credentials: credentials
        )
        try console.requireOutput()
        guard let asset = try await session.client.asset(id) else { throw Diagnosis.noSuchMedia(id) }
        let file = try await session.client.media(including: asset)
        console.record(.item, JSONRenderer.media(file, on: session.server))
        console.text(TextRenderer.media(file, on: session.server, style: console.outputStyle))
        let code = console.exitCode(.success)
        console.summary(["items": 1, "exit_code": JSONRenderer.exitCode(code)])
        return code
    }
}
