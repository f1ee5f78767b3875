internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

/// `mediactl tapes album show TAPE`
struct TapesAlbumShow: ContextCommand {
    static let schema = "mediactl.tapes-album-show/1"
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the albums of a tape, in every library it was in. Asks no library.",
        discussion: """
            Example:
              mediactl tapes album show Summer
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @OptionGroup(title: "Library options") var connection: TapeLibraryOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let current = try session.localService().knownLink(of: tape.id)
        let links = try session.store.albumLinks(of: tape.id)
        for link in links {
            let isCurrent = link.libraryID == current?.libraryID
            console.result(
                JSONRenderer.link(link) + ["current": .bool(isCurrent)],
                TextRenderer.fields(
                    TextRenderer.album(link) + [("in use", isCurrent ? "yes" : "no, another library is")],
                    console.outputStyle
                )
            )
        }
        if links.isEmpty {
            let waiting = tape.association == .pending ? ": \(TextRenderer.words(for: tape))" : ""
            console.note("\(ErrorCatalogue.quoted(tape.title)) has no album\(waiting)")
        }
        console.summary([
            "tape_id": .string(tape.id), "title": .string(tape.title), "items": JSONValue(links.count), "exit_code": 0,
        ])
        return .success
    }
}
