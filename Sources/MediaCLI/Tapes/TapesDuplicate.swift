internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesDuplicate: ContextCommand {
    static let schema = "mediactl.tapes-duplicate/1"
    static let configuration = CommandConfiguration(
        commandName: "duplicate",
        abstract: "Copy a tape with its clips. The copy gets its own album.",
        discussion: """
            Example:
              mediactl tapes duplicate Summer
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Flag(help: "Do not create an album now; the next add, or tapes reconcile --apply, creates it.")
    var noAlbum = false

    @Flag(name: .dryRun, help: "Show what would be created, without creating it.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeUploadOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws { try connection.requireUploads(!noAlbum, otherwise: TapeUploadOptions.ruleOfAlbum) }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let display = RunDisplay<TapeReading>(console)
        let service = noAlbum || dryRun ? nil : try await session.service(connection.key, progress: display)
        try console.requireOutput()
        let title = ErrorCatalog.quoted(tape.title)
        guard !dryRun else {
            console.text(["\(title) would be copied"])
            return finish(tape, of: tape, nil, console)
        }
        // The copy is stored first; a signal during the update of its album does not remove it.
        return try await console.context.interruption.handling({ _ in }) {
            let copy = try session.editor.duplicate(tape)
            console.text(["\(console.outputStyle.green("created")) \(ErrorCatalog.quoted(copy.title)) as \(copy.id)"])
            guard let service, copy.hasReceivedFirstContent else { return finish(copy, of: tape, nil, console) }
            let outcome = try await display.albumWork { try await service.associate(copy.id) }
            console.text(outcome.map { TextRenderer.album($0, style: console.outputStyle) } ?? [])
            console.warn(AlbumWarning(saved: "the copy is", count: 1, outcome))
            return finish(try session.store.tape(copy.id) ?? copy, of: tape, outcome, console)
        }
    }

    private func finish(
        _ copy: TapeRecord,
        of tape: TapeRecord,
        _ outcome: AlbumOutcome?,
        _ console: Console
    ) -> ExitCode {
        return console.finish(
            JSONRenderer.tape(copy, isPlanned: dryRun) + ["copy_of": .string(tape.id)] + JSONRenderer.album(outcome) + [
                "dry_run": .bool(dryRun)
            ]
        )
    }
}
