internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import Tapes

/// `tapes add` and `insert`: the clips come first, then the album, then the checksums (rule R2).
struct TapeAdditionRun: Sendable {
    let session: TapesSession
    /// nil leaves the album alone.
    let service: AlbumService?
    let display: RunDisplay<TapeReading>
    let options: TapeAddingOptions
    let input: TapeInputOptions
    /// Where the clips go; nil is the end.
    var position: Int?

    private var console: Console { session.console }

    /// Adds files to a tape, and writes every record, text, warning and summary.
    ///
    /// - Throws: `TapesError` when the tape is gone or the store cannot be used.
    func run(_ tape: TapeRecord, _ paths: [[UInt8]]) async throws -> ExitCode {
        console.record(
            .start,
            [
                "tape_id": .string(tape.id), "title": .string(tape.title), "items": JSONValue(paths.count),
                "dry_run": .bool(options.dryRun),
            ]
        )
        try console.requireOutput()
        // A signal between two steps ends the work, not the program: what is committed is told.
        return try await console.context.interruption.handling({ _ in }) {
            let (clips, refused) = await inspect(paths)
            for item in refused { tell(item) }
            guard console.mayGoOn else {
                return finish(tape, refused, nil, notStarted: paths.count - refused.count)
            }
            guard !options.dryRun else { return rehearse(tape, clips, refused) }
            return try await add(clips, to: tape, beside: refused)
        }
    }

    // MARK: Checking

    private func inspect(_ paths: [[UInt8]]) async -> (clips: [ClipRecord], refused: [AddedClip]) {
        let (editor, allowsMissing, interruption) = (session.editor, input.allowMissing, console.context.interruption)
        let isPairing = input.live
        return await BlockingWork.run {
            var clips: [ClipRecord] = []
            var refused: [AddedClip] = []
            for path in paths where interruption.signal == nil {
                do throws(TapesError) {
                    clips.append(try editor.inspect(path, allowingMissing: allowsMissing))
                } catch {
                    refused.append(AddedClip(path: path, state: .failed, error: error))
                }
            }
            return (isPairing ? editor.pairingLivePictures(clips) : clips, refused)
        }
    }

    private func rehearse(_ tape: TapeRecord, _ clips: [ClipRecord], _ refused: [AddedClip]) -> ExitCode {
        let planned = clips.map { AddedClip(path: $0.source ?? [], state: .planned, clip: $0) }
        for item in planned { tell(item) }
        return finish(tape, refused + planned, nil)
    }

    // MARK: Adding

    private func add(_ clips: [ClipRecord], to tape: TapeRecord, beside refused: [AddedClip]) async throws -> ExitCode {
        let editor = session.editor
        let kept = clips.isEmpty ? [] : try editor.add(clips, to: tape, at: position)
        var outcome: AlbumOutcome?
        var failure: (any Error)?
        if !kept.isEmpty, let service {
            do {
                let work = AlbumWork(console: console, service: service, display: display)
                outcome = try await work.run { (service) async throws(TapesError) in
                    try await service.associate(tape.id)
                }
            } catch {
                failure = error
            }
        }
        if failure == nil, !options.noChecksum {
            try await session.checksum(kept, showing: display)
        }
        let items = items(kept, of: tape)
        for item in items { tell(item) }
        if let outcome {
            console.text(TextRenderer.album(outcome, style: console.outputStyle))
        }
        // Its clips are told; now it is the store's turn.
        if let failure { throw failure }
        if !kept.isEmpty, service != nil {
            console.warn(AlbumWarning(saved: Formats.count(kept.count, "clip"), count: kept.count, outcome))
        }
        let isIncomplete = !kept.isEmpty && service != nil && outcome?.isComplete != true
        return finish(tape, refused + items, outcome, isAlbumOwed: options.strictAlbums && isIncomplete)
    }

    /// The clips as they are after the work on the album.
    private func items(_ kept: [ClipRecord], of tape: TapeRecord) -> [AddedClip] {
        let now = (try? session.store.clips(of: tape.id)) ?? []
        let byID = Dictionary(now.map { ($0.id, $0) }) { $1 }
        return kept.map { clip in
            AddedClip(path: clip.source ?? [], state: .added, clip: byID[clip.id] ?? clip)
        }
    }

    // MARK: Telling

    private func tell(_ item: AddedClip) {
        console.result(JSONRenderer.added(item), TextRenderer.added(item, style: console.outputStyle))
        if let error = item.error {
            console.error(ErrorCatalogue.diagnosis(of: error))
        }
    }

    private func finish(
        _ tape: TapeRecord,
        _ items: [AddedClip],
        _ outcome: AlbumOutcome?,
        notStarted: Int = 0,
        isAlbumOwed: Bool = false
    ) -> ExitCode {
        let isWhole = notStarted == 0 && !isAlbumOwed
        let code = console.exitCode(ExitCode.batch(items.map(\.exitCode), isWhole: isWhole))
        func count(_ state: AddedClip.State) -> JSONValue { JSONValue(items.count { $0.state == state }) }
        let now = (try? session.store.tape(tape.id)) ?? tape
        console.summary(
            [
                "tape_id": .string(tape.id), "title": .string(now.title), "items": JSONValue(items.count + notStarted),
                "added": count(.added), "planned": count(.planned), "failed": count(.failed),
                "association": .string(now.association.rawValue), "reason": JSONValue(now.reason?.rawValue),
            ] + JSONRenderer.album(outcome) + [
                "dry_run": .bool(options.dryRun)
            ] + console.ending(code)
        )
        return code
    }
}

extension TapesSession {
    /// Reads the files of clips once, for `relink` to find them by. A file that cannot be read now is left for later, and a
    /// signal ends it: the clips are there, and that is what was asked for.
    ///
    /// - Throws: `TapesError` when the store cannot be used.
    func checksum(_ clips: [ClipRecord], showing display: RunDisplay<TapeReading>?) async throws {
        let (editor, interruption) = (editor, console.context.interruption)
        func work() async throws {
            for (index, clip) in clips.enumerated() where interruption.signal == nil {
                display?.update(
                    TapeReading(.hashing, path: clip.source ?? [], done: Int64(index), whole: Int64(clips.count))
                )
                _ = try await interruption.cancelling { try await editor.checksum(clip) }
            }
        }
        do {
            if let display { try await display.during(work) } else { try await work() }
        } catch let error as TapesError where error.code == .cancelled {
            return
        }
    }
}
