internal import ArgumentParser
internal import MediaCore
internal import MediaStore

/// `mediactl tapes list`
struct TapesList: ContextCommand {
    static let schema = "mediactl.tapes-list/1"
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the tapes, the one last changed first. Asks no library.",
        discussion: """
            Examples:
              mediactl tapes list
              mediactl tapes list --json \\
                | jq -r 'select(.association == "pending_association") | .title'
            """
    )

    @OptionGroup(visibility: .hidden) var connection: NoConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tapes = try session.store.tapeSummaries()
        for tape in tapes {
            console.record(.item, JSONRenderer.tapeSummary(tape))
        }
        console.text(
            TextRenderer.tapes(
                tapes,
                now: console.context.now(),
                width: console.outputWidth,
                style: console.outputStyle
            )
        )
        if tapes.isEmpty {
            console.note("there is no tape; mediactl tapes create TITLE makes one")
        }
        console.summary(["items": JSONValue(tapes.count), "exit_code": 0])
        return .success
    }
}
