internal import ArgumentParser
internal import MediaStore
internal import Tapes

/// `mediactl tapes album link TAPE ALBUM`
struct TapesAlbumLink: ContextCommand {
    static let schema = "mediactl.tapes-album-link/1"
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Make an album of the library the tape's. Clips that are not in it are added with the next add.",
        discussion: """
            An album is never taken by its title, only by its id. A folder's id is in its .mediactl-album.json, a server \
            shows it in the address of the album.

            Example:
              mediactl tapes album link Summer 0b1f7c52-3a43-4a0e-9d3b-6f2c9e2a7d10
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument(help: ArgumentHelp("The library's id of the album.", valueName: "album"))
    var album: String

    @Flag(help: "Only say what would be linked. No library is asked.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        guard !album.isEmpty else { throw ValidationError("An empty id.") }
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        try console.requireOutput()
        let title = ErrorCatalogue.quoted(tape.title)
        var link: AlbumLink?
        if dryRun {
            console.text(["the album \(ErrorCatalogue.quoted(album)) would be that of \(title)"])
        } else {
            let (service, album) = (try await session.service(connection.key), album)
            let linked = try await console.context.interruption.cancelling {
                try await service.link(tape.id, to: album)
            }
            link = linked
            console.text(["the album \(ErrorCatalogue.quoted(linked.titleAtCreation)) is that of \(title) now"])
        }
        console.summary(
            ["tape_id": .string(tape.id), "title": .string(tape.title)] + JSONRenderer.link(link) + [
                "dry_run": .bool(dryRun), "exit_code": 0,
            ]
        )
        return .success
    }
}
