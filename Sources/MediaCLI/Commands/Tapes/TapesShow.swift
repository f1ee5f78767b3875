internal import ArgumentParser
internal import MediaCore
internal import MediaStore

/// `mediactl tapes show TAPE`
struct TapesShow: ContextCommand {
    static let schema = "mediactl.tapes-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a tape, its album and its clips. Asks no library.",
        discussion: """
            Originals that are not there now are shown as offline; they stay in the tape.

            Examples:
              mediactl tapes show Summer
              mediactl tapes show 5f0c --json | jq -r 'select(.offline) | .path'
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @OptionGroup(title: "Library options") var connection: TapeLibraryOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let view = try await TapeView(tape, session: session, service: session.localService())
        for clip in view.clips {
            console.record(
                .item,
                JSONRenderer.clip(clip) + ["offline": .bool(view.offline.contains(clip.id))]
            )
        }
        console.text(
            TextRenderer.tape(view, now: console.context.now(), width: console.outputWidth, style: console.outputStyle)
        )
        console.summary(
            JSONRenderer.tape(tape) + JSONRenderer.link(view.link) + [
                "items": JSONValue(view.clips.count), "duration_ms": JSONValue(view.milliseconds), "exit_code": 0,
            ]
        )
        return .success
    }
}
