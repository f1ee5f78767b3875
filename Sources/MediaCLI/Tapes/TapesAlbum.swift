internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesAlbum: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "album",
        abstract: "Look at the album of a tape, name another one, or forget it.",
        discussion: """
            Examples:
              mediactl tapes album show Summer
              mediactl tapes album link Summer 0b1f7c52-3a43-4a0e-9d3b-6f2c9e2a7d10
            """,
        subcommands: [TapesAlbumShow.self, TapesAlbumLink.self, TapesAlbumUnlink.self]
    )
}

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

    @Argument("The library's id of the album.", value: "album")
    var album: String

    @Flag(name: .dryRun, help: "Show what would be linked, without linking it or querying the library.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(!album.isEmpty, "An empty id.")
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
            let linked = try await console.context.interruption.canceling {
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

    @Flag(name: .dryRun, help: "Show what would be unlinked, without unlinking it.")
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
