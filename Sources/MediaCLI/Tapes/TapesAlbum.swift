internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesAlbum: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "album",
        abstract: "Show, link or unlink the album of a tape.",
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
        abstract: "Show the albums of a tape in all libraries. Sends nothing.",
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
                    TextRenderer.album(link) + [("in use", isCurrent ? "yes" : "no, another library is used")],
                    console.outputStyle
                )
            )
        }
        if links.isEmpty {
            let waiting = tape.association == .pending ? ": \(TextRenderer.words(for: tape))" : ""
            console.note("\(ErrorCatalog.quoted(tape.title)) has no album\(waiting)")
        }
        return console.finish([
            "tape_id": .string(tape.id), "title": .string(tape.title), "items": JSONValue(links.count),
        ])
    }
}

struct TapesAlbumLink: ContextCommand {
    static let schema = "mediactl.tapes-album-link/1"
    static let configuration = CommandConfiguration(
        commandName: "link",
        abstract: "Link an existing album to the tape. Missing clips are added by the next add.",
        discussion: """
            An album is identified by its ID, never by its title. The ID of a folder is in its .mediactl-album.json; a \
            server shows the ID in the address of the album.

            Example:
              mediactl tapes album link Summer 0b1f7c52-3a43-4a0e-9d3b-6f2c9e2a7d10
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument("ID of the album in the library.", value: "album")
    var album: String

    @Flag(name: .dryRun, help: "Show what would be linked, without linking it or querying the library.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(!album.isEmpty, "The ID is empty.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        try console.requireOutput()
        let title = ErrorCatalog.quoted(tape.title)
        var link: AlbumLink?
        if dryRun {
            console.text(["the album \(ErrorCatalog.quoted(album)) would be linked to \(title)"])
        } else {
            let (service, album) = (try await session.service(connection.key), album)
            let linked = try await console.context.interruption.canceling {
                try await service.link(tape.id, to: album)
            }
            link = linked
            console.text(["linked the album \(ErrorCatalog.quoted(linked.titleAtCreation)) to \(title)"])
        }
        return console.finish(
            ["tape_id": .string(tape.id), "title": .string(tape.title)] + JSONRenderer.link(link) + [
                "dry_run": .bool(dryRun)
            ]
        )
    }
}

struct TapesAlbumUnlink: ContextCommand {
    static let schema = "mediactl.tapes-album-unlink/1"
    static let configuration = CommandConfiguration(
        commandName: "unlink",
        abstract: "Unlink the album of a tape. The album is kept; the next add creates a new one.",
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
        let title = ErrorCatalog.quoted(tape.title)
        if let link {
            let album = ErrorCatalog.quoted(link.titleAtCreation)
            console.text([
                dryRun
                    ? "the album \(album) would be unlinked from \(title)" : "unlinked the album \(album) from \(title)"
            ])
        } else {
            console.text(["\(title) has no album"])
        }
        return console.finish(
            ["tape_id": .string(tape.id), "title": .string(tape.title)] + JSONRenderer.link(link) + [
                "dry_run": .bool(dryRun)
            ]
        )
    }
}
