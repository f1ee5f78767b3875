internal import ArgumentParser
internal import MediaCore
internal import MediaStore
internal import Tapes

struct TapesDelete: ContextCommand {
    static let schema = "mediactl.tapes-delete/1"
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract:
            "Delete tapes. Albums are kept unless features.deleteAssociatedAlbum is set; originals are always kept.",
        discussion: """
            With features.deleteAssociatedAlbum: true, the albums are deleted too, except for files in them that \
            mediactl did not create.

            Examples:
              mediactl tapes delete Summer
              mediactl tapes delete 5f0c 81d2 --yes
            """
    )

    @Argument(help: TapeHelp.tape)
    var tapes: [String] = []

    @Flag(help: "Delete all tapes.")
    var all = false

    @Flag(help: "Keep the albums, regardless of the settings.")
    var keepAlbum = false

    @Flag(name: .shortAndLong, help: "Delete without confirmation.")
    var yes = false

    @Flag(name: .dryRun, help: "Show what would be deleted, without deleting it.")
    var dryRun = false

    @OptionGroup(title: "Library options") var connection: TapeConnectionOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func validate() throws {
        try require(tapes.isEmpty == all, all ? "--all cannot be combined with tapes." : "Specify a tape, or --all.")
    }

    func run(in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let confirmation = Confirmation(prompter: session.settings.prompter, isGiven: yes)
        let chosen = all ? try session.store.tapeSummaries().map(\.tape) : try tapes.map { try session.tape($0) }
        let targets = chosen.uniqued { $0.id }
        if !dryRun, !targets.isEmpty {
            try confirmation.requirePrompt(for: targets.count > 1 ? "Delete them?" : "Delete it?")
        }
        // Libraries are not contacted if the albums are kept (rule R11).
        let callsLibrary = session.settings.settings.deleteAssociatedAlbum.value && !keepAlbum && !dryRun
        let run = TapeDeletionRun(
            session: session,
            service: callsLibrary ? try await session.service(connection.key) : try session.localService(),
            keepsAlbums: keepAlbum,
            confirmation: confirmation,
            isDryRun: dryRun
        )
        return try await run.run(targets)
    }
}

/// `tapes delete`: prompts once and deletes the tapes one at a time (rule R11, trap 9).
struct TapeDeletionRun: Sendable {
    struct Item: Sendable {
        enum State: String, Sendable {
            case deleted, planned, declined, failed
        }

        var tape: TapeRecord
        var state: State
        var albums: [TapeDeletion.Album] = []
        var error: TapesError?

        var exitCode: ExitCode {
            switch state {
            case .deleted, .planned: .success
            case .declined: .failure
            case .failed: ExitCode(of: error) ?? .failure
            }
        }
    }

    let session: TapesSession
    let service: AlbumService
    let keepsAlbums: Bool
    let confirmation: Confirmation
    let isDryRun: Bool

    private var console: Console { session.console }

    /// - Throws: `UserFacingError` if no prompt is possible; `TapesError`.
    func run(_ tapes: [TapeRecord]) async throws -> ExitCode {
        let isConfirmed = isDryRun || tapes.isEmpty ? true : try await confirm(tapes)
        return try await console.context.interruption.handling({ _ in }) {
            try console.start(["items": JSONValue(tapes.count), "dry_run": .bool(isDryRun)])
            var items: [Item] = []
            for tape in tapes {
                guard console.mayContinue, let item = try await item(tape, isConfirmed: isConfirmed) else { break }
                items.append(item)
                report(item)
            }
            warn(items)
            return finish(items, notStarted: tapes.count - items.count)
        }
    }

    private func confirm(_ tapes: [TapeRecord]) async throws -> Bool {
        let isWithAlbum = service.policy.deletesAlbums && !keepsAlbums && service.policy.isEnabled
        let lines =
            [
                tapes.count == 1
                    ? "This deletes the tape, \(isWithAlbum ? "with its album" : "but no album"):"
                    : "This deletes the tapes, \(isWithAlbum ? "with their albums" : "but no album"):"
            ]
            + tapes.prefix(20).map { "  \(TextRenderer.brief($0.id))  \(ErrorCatalog.quoted($0.title))" }
            + (tapes.count > 20 ? ["  and \(tapes.count - 20) more"] : []) + ["Originals are not deleted."]
        return try await confirmation.prompt(lines, tapes.count == 1 ? "Delete it?" : "Delete them?", on: console)
    }

    /// - Returns: nil if a signal stopped the wait for another command before anything was deleted.
    private func item(_ tape: TapeRecord, isConfirmed: Bool) async throws -> Item? {
        guard isConfirmed else { return Item(tape: tape, state: .declined) }
        guard !isDryRun else {
            let link = try service.knownLink(of: tape.id)
            let isKept = keepsAlbums || !service.policy.deletesAlbums || !service.policy.isEnabled
            return Item(tape: tape, state: .planned, albums: link.map { [isKept ? .kept($0) : .deleted($0)] } ?? [])
        }
        do {
            let deletion = try await console.context.interruption.canceling {
                try await service.deleteTape(tape.id, keepingAlbum: keepsAlbums)
            }
            return Item(tape: tape, state: .deleted, albums: deletion.albums)
        } catch let error as TapesError {
            return error.code == .cancelled ? nil : Item(tape: tape, state: .failed, error: error)
        }
    }

    private func report(_ item: Item) {
        console.result(item)
        if let error = item.error {
            console.error(ErrorCatalog.userFacingError(of: error))
        }
    }

    /// Warns about albums that were to be deleted but still exist (rule R11).
    private func warn(_ items: [Item]) {
        let pending = items.flatMap(\.albums).compactMap { album -> (AssociationReason, String)? in
            if case .pending(_, let reason, let detail) = album { (reason, detail) } else { nil }
        }
        guard let first = pending.first else { return }
        let detail = first.1.isEmpty ? "" : ": \(ErrorCatalog.clean(first.1))"
        console.warning(
            "\(Formats.count(pending.count, "album")) \(pending.count == 1 ? "is" : "are") still in the library "
                + "(\(first.0.words)\(detail))",
            hint: "to retry: mediactl tapes reconcile --apply"
        )
    }

    private func finish(_ items: [Item], notStarted: Int) -> ExitCode {
        func count(_ state: Item.State) -> JSONValue { JSONValue(items.count { $0.state == state }) }
        return console.ending(ExitCode.batch(items.map(\.exitCode), isWhole: notStarted == 0)).runSummary([
            "items": JSONValue(items.count + notStarted), "deleted": count(.deleted), "planned": count(.planned),
            "declined": count(.declined), "failed": count(.failed), "not_started": JSONValue(notStarted),
            "dry_run": .bool(isDryRun),
        ])
    }
}

extension TapeDeletion.Album {
    fileprivate var json: JSONValue {
        func object(_ state: String, _ link: AlbumLink, left: Int? = nil, reason: AssociationReason? = nil) -> JSONValue
        {
            .object([
                "state": .string(state), "album_id": .string(link.albumID), "library_id": .string(link.libraryID),
                "title": .string(link.titleAtCreation), "left": JSONValue(left), "reason": JSONValue(reason?.rawValue),
            ])
        }
        return switch self {
        case .kept(let link): object("kept", link)
        case .deleted(let link): object("deleted", link)
        case .keptForeign(let link, let count): object("kept_foreign", link, left: count)
        case .pending(let link, let reason, _): object("owed", link, reason: reason)
        }
    }

    fileprivate var plannedWords: String? {
        guard case .deleted(let link) = self else { return words }
        return
            "  and its album \(ErrorCatalog.quoted(link.titleAtCreation)), except for files that mediactl did not create"
    }

    fileprivate var words: String? {
        switch self {
        case .pending: nil
        case .kept(let link):
            "  its album is kept: \(ErrorCatalog.quoted(link.titleAtCreation)) (\(TextRenderer.brief(link.albumID)))"
        case .deleted(let link):
            "  deleted its album \(ErrorCatalog.quoted(link.titleAtCreation)); originals are kept"
        case .keptForeign(let link, let count):
            "  emptied its album \(ErrorCatalog.quoted(link.titleAtCreation)); "
                + "\(Formats.count(count, "file")) in it \(count == 1 ? "is" : "are") kept"
        }
    }
}

extension TapeDeletionRun.Item: RunItem {
    var json: JSONObject {
        [
            "tape_id": .string(tape.id), "title": .string(tape.title), "state": .string(state.rawValue),
            "albums": .array(albums.map(\.json)), "exit_code": .exitCode(exitCode),
            "error": .error(error),
        ]
    }

    func text(_ style: Style) -> [String] {
        let name = ErrorCatalog.quoted(tape.title)
        return switch state {
        case .deleted: ["\(style.green("deleted")) the tape \(name)"] + albums.compactMap(\.words)
        case .planned: ["the tape \(name) would be deleted"] + albums.compactMap(\.plannedWords)
        case .declined: ["the tape \(name) was not deleted"]
        case .failed: []
        }
    }
}
