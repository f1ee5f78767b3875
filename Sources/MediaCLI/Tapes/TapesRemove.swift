internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesRemove: ContextCommand {
    static let schema = "mediactl.tapes-remove/1"
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Take clips out of a tape. Originals stay, and so does what is in the album.",
        discussion: """
            With features.deleteAssociatedAlbum the album loses them too, unless another clip of the tape needs them.

            Examples:
              mediactl tapes remove Summer "#3"
              mediactl tapes remove Summer 81d2c0aa 5e77
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument(help: TapeHelp.clip)
    var clips: [String]

    @Flag(name: .dryRun, help: "Show what would be removed, without removing it.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let named = try clips.map { try session.editor.clip(named: $0, of: tape) }.uniqued { $0.id }
        let callsLibrary = session.settings.settings.deleteAssociatedAlbum.value && !dryRun
        let service = callsLibrary ? try await session.service(connection.key) : try session.localService()
        try console.requireOutput()
        return try await console.context.interruption.handling({ _ in }) {
            guard !dryRun else { return finish(tape, named, nil, console) }
            // Not interruptible, since it is short, and the album would otherwise be out of step with the tape.
            let (removed, outcome) = try await service.removeClips(named.map(\.id), of: tape.id)
            return finish(tape, removed, outcome, console)
        }
    }

    private func finish(
        _ tape: TapeRecord,
        _ removed: [ClipRecord],
        _ outcome: AlbumOutcome?,
        _ console: Console
    ) -> ExitCode {
        for clip in removed {
            let name = TextRenderer.name(of: clip)
            console.result(
                JSONRenderer.clip(clip),
                [dryRun ? "\(name): would be removed" : "\(console.outputStyle.green("removed")) \(name)"]
            )
        }
        if outcome?.isComplete == false {
            console.warn(AlbumWarning(saved: "the change is", count: 1, outcome))
        }
        let code = console.exitCode(.success)
        console.summary(
            [
                "tape_id": .string(tape.id), "title": .string(tape.title), "items": JSONValue(removed.count),
            ] + JSONRenderer.album(outcome) + [
                "dry_run": .bool(dryRun)
            ] + console.ending(code)
        )
        return code
    }
}
