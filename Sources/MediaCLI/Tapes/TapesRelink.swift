internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import Tapes

struct TapesRelink: ContextCommand {
    static let schema = "mediactl.tapes-relink/1"
    static let configuration = CommandConfiguration(
        commandName: "relink",
        abstract: "Find originals that were moved or renamed, by their checksums.",
        discussion: """
            Only files with the length of a missing original are read. Originals that are not missing are skipped, and \
            so are missing originals without a stored checksum. With --changed, also finds the former files of \
            originals that were replaced; after an intentional edit, remove the clip and add the file again instead.

            Examples:
              mediactl tapes relink --in /mnt/archive --dry-run
              mediactl tapes relink Summer --in ~/Pictures --in ~/Videos
            """
    )

    @Argument("Only clips in these tapes (default: all).", value: "tape")
    var tapes: [String] = []

    @Option(
        "Search this directory and its subdirectories; may be repeated.",
        value: .directory,
        name: .customLong("in")
    )
    var directories: [String] = []

    @Flag(help: "Also search for the former content of originals that were changed or replaced.")
    var changed = false

    @Flag(name: .dryRun, help: "Show what was found, without changing anything.")
    var dryRun = false

    @OptionGroup(visibility: .hidden) var connection: ProfileOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(!directories.isEmpty, "Specify a directory: --in DIR.")
        try require(!directories.contains(""), "--in: the path is empty.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let named = try tapes.map { try session.tape($0) }
        try console.start(["dry_run": .bool(dryRun)])
        let (editor, places, includesChanged, isDryRun) = (session.editor, try self.places(), changed, dryRun)
        let results = try await console.context.interruption.canceling {
            try await editor.relink(named, in: places, includesChanged: includesChanged, isDryRun: isDryRun)
        }
        for result in results {
            console.result(
                JSONRenderer.relinked(result, isDryRun: dryRun),
                TextRenderer.relinked(result, isDryRun: dryRun, style: console.outputStyle)
            )
        }
        if !dryRun { try await rearrange(results, session) }
        return finish(results, console)
    }

    /// Updates the playlists, which list the new paths until the albums have links to these files.
    private func rearrange(_ results: [RelinkResult], _ session: TapesSession) async throws {
        var seen: Set<String> = []
        for result in results {
            guard case .found = result.state, seen.insert(result.clip.tapeID).inserted,
                let tape = try session.store.tape(result.clip.tapeID)
            else { continue }
            session.console.warn(
                AlbumWarning(saved: "the change is", count: 1, try await session.rearrange(tape), isOrder: true)
            )
        }
    }

    /// - Throws: `UserFacingError` (usage) for a path that is not a directory: a typo must not look like missing originals.
    private func places() throws(UserFacingError) -> [[UInt8]] {
        let places = directories.map { RawArguments.bytes(of: $0) }
        for place in places where !FileWalk.isDirectory(place) {
            throw .usage("--in: \(ErrorCatalog.quoted(place)) is not a directory")
        }
        return places
    }

    private func finish(_ results: [RelinkResult], _ console: Console) -> ExitCode {
        func count(_ isWanted: (RelinkResult.State) -> Bool) -> Int { results.count { isWanted($0.state) } }
        let found = count { if case .found = $0 { true } else { false } }
        let (present, missing, unknown) = (
            count { $0 == .present }, count { $0 == .notFound }, count { $0 == .noChecksum }
        )
        if found + missing + unknown == 0 {
            console.note("all originals found")
        }
        if found > 0, !dryRun {
            console.note("albums are updated by the next add; to update now: mediactl tapes reconcile --apply")
        }
        let lost = missing + unknown
        return console.ending(lost == 0 ? .success : found == 0 ? .notFound : .partly).summary([
            "items": JSONValue(results.count), "present": JSONValue(present), "planned": JSONValue(dryRun ? found : 0),
            "relinked": JSONValue(dryRun ? 0 : found),
            "not_found": JSONValue(missing), "no_checksum": JSONValue(unknown), "dry_run": .bool(dryRun),
        ])
    }
}

extension JSONRenderer {
    static func relinked(_ result: RelinkResult, isDryRun: Bool) -> JSONObject {
        let (state, found): (String, [UInt8]?) =
            switch result.state {
            case .present: ("present", nil)
            case .found(let path): (isDryRun ? "planned" : "relinked", path)
            case .notFound: ("not_found", nil)
            case .noChecksum: ("no_checksum", nil)
            }
        return [
            "clip_id": .string(result.clip.id), "tape_id": .string(result.clip.tapeID),
            "position": JSONValue(result.clip.position), "number": JSONValue(result.clip.number),
            "state": .string(state),
            "path": .path(result.clip.source), "path_base64": .pathBase64(result.clip.source),
            "found": .path(found), "found_base64": .pathBase64(found),
        ]
    }
}

extension TextRenderer {
    static func relinked(_ result: RelinkResult, isDryRun: Bool, style: Style) -> [String] {
        let name = result.clip.source.map { TerminalText.escaped($0) } ?? "-"
        return switch result.state {
        case .present: []
        case .found(let path):
            [
                isDryRun ? "\(name): would be relinked" : "\(style.green("relinked")) \(name)",
                "  to \(TerminalText.escaped(path))",
            ]
        case .notFound: ["\(style.yellow("not found")) \(name)"]
        case .noChecksum: ["\(style.yellow("no checksum")) \(name): cannot be identified"]
        }
    }
}
