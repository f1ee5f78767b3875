internal import MediaCore
internal import MediaStore
internal import Tapes

/// `tapes delete`: asks once, deletes one after the other (rule R11, trap 9).
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
            case .failed: error.map { ErrorCatalogue.diagnosis(of: $0).exitCode } ?? .failure
            }
        }
    }

    let session: TapesSession
    let service: AlbumService
    let keepsAlbums: Bool
    let confirmation: Confirmation
    let isDryRun: Bool

    private var console: Console { session.console }

    /// Deletes tapes, and writes every record, text and summary.
    ///
    /// - Throws: `Diagnosis` when nobody can be asked; `TapesError`.
    func run(_ tapes: [TapeRecord]) async throws -> ExitCode {
        console.record(.start, ["items": JSONValue(tapes.count), "dry_run": .bool(isDryRun)])
        try console.requireOutput()
        let isConfirmed = isDryRun || tapes.isEmpty ? true : try await confirm(tapes)
        return try await console.context.interruption.handling({ _ in }) {
            var items: [Item] = []
            for tape in tapes {
                guard console.mayGoOn else { break }
                items.append(try await item(tape, isConfirmed: isConfirmed))
                tell(items[items.count - 1])
            }
            warn(items)
            return finish(items, notStarted: tapes.count - items.count)
        }
    }

    private func confirm(_ tapes: [TapeRecord]) async throws -> Bool {
        let goes = service.policy.deletesAlbums && !keepsAlbums && service.policy.isEnabled
        let lines =
            [
                "This deletes \(tapes.count == 1 ? "the tape" : "the tapes"), \(goes ? "with the album" : "and no album"):"
            ]
            + tapes.prefix(20).map { "  \(TextRenderer.brief($0.id))  \(ErrorCatalogue.quoted($0.title))" }
            + (tapes.count > 20 ? ["  and \(tapes.count - 20) more"] : []) + ["Every original stays where it is."]
        return try await confirmation.ask(lines, tapes.count == 1 ? "Delete it?" : "Delete them?", on: console)
    }

    private func item(_ tape: TapeRecord, isConfirmed: Bool) async throws -> Item {
        guard isConfirmed else { return Item(tape: tape, state: .declined) }
        guard !isDryRun else {
            let link = try service.knownLink(of: tape.id)
            let isKept = keepsAlbums || !service.policy.deletesAlbums || !service.policy.isEnabled
            return Item(tape: tape, state: .planned, albums: link.map { [isKept ? .kept($0) : .deleted($0)] } ?? [])
        }
        do throws(TapesError) {
            let deletion = try await service.deleteTape(tape.id, keepingAlbum: keepsAlbums)
            return Item(tape: tape, state: .deleted, albums: deletion.albums)
        } catch {
            return Item(tape: tape, state: .failed, error: error)
        }
    }

    private func tell(_ item: Item) {
        console.result(JSONRenderer.tapeDeletion(item), TextRenderer.tapeDeletion(item, style: console.outputStyle))
        if let error = item.error {
            console.error(ErrorCatalogue.diagnosis(of: error))
        }
    }

    /// Albums that are still there although they were to go (rule R11).
    private func warn(_ items: [Item]) {
        let owed = items.flatMap(\.albums).compactMap { album -> (AssociationReason, String)? in
            if case .owed(_, let reason, let detail) = album { (reason, detail) } else { nil }
        }
        guard let first = owed.first else { return }
        let detail = first.1.isEmpty ? "" : ": \(ErrorCatalogue.clean(first.1))"
        console.warning(
            "\(Formats.count(owed.count, "album")) \(owed.count == 1 ? "is" : "are") still in the library "
                + "(\(first.0.words)\(detail))",
            hint: "mediactl tapes reconcile --apply tries again"
        )
    }

    private func finish(_ items: [Item], notStarted: Int) -> ExitCode {
        let code = console.exitCode(ExitCode.batch(items.map(\.exitCode), isWhole: notStarted == 0))
        func count(_ state: Item.State) -> JSONValue { JSONValue(items.count { $0.state == state }) }
        console.summary(
            [
                "items": JSONValue(items.count + notStarted), "deleted": count(.deleted), "planned": count(.planned),
                "declined": count(.declined), "failed": count(.failed), "not_started": JSONValue(notStarted),
                "dry_run": .bool(isDryRun),
            ] + console.ending(code)
        )
        return code
    }
}
