internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesMove: ContextCommand {
    static let schema = "mediactl.tapes-move/1"
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Move a clip to another position in its tape.",
        discussion: """
            Examples:
              mediactl tapes move Summer 3 --position 1
              mediactl tapes move Summer sunset.jpg --position 6
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument(help: TapeHelp.clip)
    var clip: String

    @OptionGroup var place: ClipPositionOption

    @Option(parsing: .unconditional, help: .hidden)
    var to: Int?

    @Flag(name: .dryRun, help: "Show what would be moved, without moving it.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeLibraryOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws { try place.check(old: "--to", to) }

    func run(in console: Console) async throws -> ExitCode {
        let to = place.index(old: "--to", to, console)
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let clip = try session.clip(clip, of: tape)
        // An album on a server has no order, so servers are not contacted.
        let service = dryRun ? nil : try session.localService()
        try console.requireOutput()
        return try await console.context.interruption.handling({ _ in }) {
            let last = try session.store.clips(of: tape.id).count - 1
            let position = dryRun ? max(0, min(to, last)) : try session.editor.move(clip, to: to)
            let name = TextRenderer.name(of: clip)
            console.text([
                position == clip.position
                    ? "\(name) is already at position \(position + 1)"
                    : dryRun
                        ? "\(name): would be moved to position \(position + 1)"
                        : "\(console.outputStyle.green("moved")) \(name), now at position \(position + 1)"
            ])
            var outcome: AlbumOutcome?
            if let service {
                let display = RunDisplay<TapeReading>(console)
                outcome = try await display.albumWork { try await service.rearrange(tape.id) }
                console.warn(AlbumWarning(saved: "the order is", count: 1, outcome, isOrder: true))
            }
            return console.finish(
                [
                    "tape_id": .string(tape.id), "clip_id": .string(clip.id), "position": JSONValue(position),
                    "number": JSONValue(position + 1), "previous_position": JSONValue(clip.position),
                    "previous_number": JSONValue(clip.number),
                ] + JSONRenderer.album(outcome) + ["dry_run": .bool(dryRun)]
            )
        }
    }
}
