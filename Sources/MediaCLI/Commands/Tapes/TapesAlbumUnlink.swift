internal import ArgumentParser
internal import MediaStore
internal import Tapes

/// `mediactl tapes album unlink TAPE`
struct TapesAlbumUnlink: ContextCommand {
    static let schema = "mediactl.tapes-album-unlink/1"
    static let configuration = CommandConfiguration(
        commandName: "unlink",
        abstract: "Forget the album of a tape, which stays as it is. The next add makes a new one.",
        discussion: """
            Example:
              mediactl tapes album unlink Summer
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Flag(help: "Only say what would be forgotten.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeLibraryOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        try console.requireOutput()
        let service = try session.localService()
        let link = dryRun ? try service.knownLink(of: tape.id) : try await service.unlink(tape.id)
        let title = ErrorCatalogue.quoted(tape.title)
        if let link {
            let album = ErrorCatalogue.quoted(link.titleAtCreation)
            console.text([
                dryRun
                    ? "the album \(album) of \(title) would be forgotten" : "\(title) no longer has the album \(album)"
            ])
        } else {
            console.text(["\(title) has no album"])
        }
        console.summary(
            ["tape_id": .string(tape.id), "title": .string(tape.title)] + JSONRenderer.link(link) + [
                "dry_run": .bool(dryRun), "exit_code": 0,
            ]
        )
        return .success
    }
}
