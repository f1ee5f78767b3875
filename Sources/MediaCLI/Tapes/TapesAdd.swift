internal import ArgumentParser
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Tapes

struct TapesAdd: TapeAddingCommand {
    static let schema = "mediactl.tapes-add/1"
    static let configuration = CommandConfiguration(
        commandName: "add",
        abstract: "Add images and videos to the end of a tape, and to its album.",
        discussion: """
            The clips are stored before the album is updated; if that fails, they stay in the tape and the album is updated \
            later. Only paths are stored: originals are never copied, moved or changed. --from-upload adds uploaded files.

            Examples:
              mediactl tapes add Summer beach.mp4 sunset.jpg
              mediactl upload *.mp4 --json | mediactl tapes add Summer --from-upload -
              find . -name "*.jpg" -print0 | mediactl tapes add Summer --files-from0 -
            """
    )

    @Argument(help: TapeHelp.tape)
    var tape: String

    @Argument("Images and videos.", value: .file)
    var files: [String] = []

    @OptionGroup(title: "File selection") var input: TapeInputOptions
    @OptionGroup(title: "Options for adding") var adding: TapeAddingOptions
    @OptionGroup(title: "Library options") var connection: TapeUploadOptions
    @OptionGroup(title: "Global options") var global: GlobalOptions

    func run(in console: Console) async throws -> ExitCode {
        try await add(at: nil, in: console)
    }
}

/// Shared by `tapes add` and `tapes insert`.
protocol TapeAddingCommand: ContextCommand {
    var tape: String { get }
    var files: [String] { get }
    var input: TapeInputOptions { get }
    var adding: TapeAddingOptions { get }
    var connection: TapeUploadOptions { get }
}

extension TapeAddingCommand {
    func validate() throws { try checkInput() }

    func checkInput() throws {
        try input.check(files, isStandardInputTaken: connection.key.apiKeyStdin)
        try connection.requireUploads(!adding.noAlbum, otherwise: TapeUploadOptions.ruleOfAlbum)
    }

    /// `position` is the number of clips before the new ones; nil adds them at the end.
    func add(at position: Int?, in console: Console) async throws -> ExitCode {
        let session = try await TapesSession.open(console, global, connection)
        let tape = try session.tape(tape)
        let display = RunDisplay<TapeReading>(console)
        let isAlbumLeft = adding.noAlbum || adding.dryRun
        let run = TapeAdditionRun(
            session: session,
            service: isAlbumLeft ? nil : try await session.service(connection.key, progress: display),
            display: display,
            options: adding,
            input: input,
            position: position
        )
        return try await run.run(tape, try await UploadedFiles.paths(files, input, session: session))
    }
}

struct TapeInputOptions: ParsableArguments {
    @OptionGroup var fileLists: FileListOptions

    @Option(
        """
        Add the files of an upload, from the output of upload --json or its --report; use - to read from standard \
        input.
        """,
        value: .file
    )
    var fromUpload: String?

    @Option(
        "Add the file of this upload: its number on the server, or its ID, for example u-h6zfchyzwaq7c3fo; may be repeated.",
        value: "id"
    )
    var uploaded: [String] = []

    @Flag(help: "Add the last file uploaded from this machine.")
    var uploadedLast = false

    @Flag(
        help: "Add missing files as well, recognized by their extension; tapes relink later finds only uploaded files."
    )
    var allowMissing = false

    @Flag(help: "Combine each photo and video with the same name and directory into one live photo.")
    var live = false

    /// Options that list inputs, as written on the command line.
    var lists: [(flag: String, value: String)] {
        fileLists.lists + (fromUpload.map { [("--from-upload", $0)] } ?? [])
    }

    /// Rejects invalid input. `isStandardInputTaken` means that a key is read from standard input.
    func check(_ files: [String], isStandardInputTaken: Bool) throws {
        try require(
            !files.isEmpty || !lists.isEmpty || !uploaded.isEmpty || uploadedLast,
            "Specify files, or --files-from, --from-upload or --uploaded."
        )
        guard !files.contains(""), !lists.contains(where: { $0.value.isEmpty }) else {
            throw ValidationError("The path is empty.")
        }
        let readers =
            lists.filter { $0.value == "-" }.map(\.flag) + (isStandardInputTaken ? ["--api-key-stdin"] : [])
        try requireOneReader(readers)
        for id in uploaded where !id.hasPrefix("u-") && Int64(id) == nil {
            throw ValidationError("\(ErrorCatalog.quoted(id)) is neither the number nor the ID (u-...) of an upload.")
        }
    }
}

struct TapeAddingOptions: ParsableArguments {
    @Flag(
        help:
            "Do not add the clips to the album now; the next add, or tapes reconcile --apply, adds them. The playlist lists them."
    )
    var noAlbum = false

    @Flag(help: "Exit with 3 if clips were saved but their album was not updated.")
    var strictAlbums = false

    @Flag(help: "Do not compute checksums, which tapes relink requires.")
    var noChecksum = false

    @Flag(name: .dryRun, help: "Show what would be added, without adding it.")
    var dryRun = false

    func validate() throws {
        try require(!noAlbum || !strictAlbums, "--no-album cannot be combined with --strict-albums.")
    }
}

/// `tapes add` and `insert`: stores the clips first, then updates the album, then computes the checksums (rule R2).
struct TapeAdditionRun: Sendable {
    let session: TapesSession
    /// nil skips the album.
    let service: AlbumService?
    let display: RunDisplay<TapeReading>
    let options: TapeAddingOptions
    let input: TapeInputOptions
    /// Number of clips before the new ones; nil to add them at the end.
    var position: Int?

    private var console: Console { session.console }

    /// - Throws: `TapesError` if the tape no longer exists or the store cannot be used.
    func run(_ tape: TapeRecord, _ inputs: [TapeInput]) async throws -> ExitCode {
        try console.start([
            "tape_id": .string(tape.id), "title": .string(tape.title), "items": JSONValue(inputs.count),
            "dry_run": .bool(options.dryRun),
        ])
        if inputs.isEmpty { console.note("nothing to add") }
        // A signal between two steps ends the work but not the program, so committed changes are reported.
        return try await console.context.interruption.handling({ _ in }) {
            let (clips, refused) = await inspect(inputs)
            for item in refused { report(item) }
            guard console.mayContinue else {
                return finish(tape, refused, nil, notStarted: inputs.count - refused.count)
            }
            guard !options.dryRun else { return rehearse(tape, clips, refused) }
            return try await add(clips, to: tape, beside: refused)
        }
    }

    // MARK: Checking

    private func inspect(_ inputs: [TapeInput]) async -> (clips: [ClipRecord], refused: [AddedClip]) {
        let (editor, allowsMissing, interruption) = (session.editor, input.allowMissing, console.context.interruption)
        let isPairing = input.live
        return await BlockingWork.run {
            var clips: [ClipRecord] = []
            var refused: [AddedClip] = []
            for input in inputs where interruption.signal == nil {
                do throws(TapesError) {
                    var clip = try editor.inspect(input.path, allowingMissing: allowsMissing)
                    // The modification time is not set, so the size and checksum of an existing file are computed
                    // again.
                    (clip.size, clip.sha256) = (input.uploaded?.size, input.uploaded?.sha256)
                    clips.append(clip)
                } catch {
                    refused.append(AddedClip(path: input.path, state: .failed, error: error))
                }
            }
            return (isPairing ? editor.pairingLivePhotos(clips) : clips, refused)
        }
    }

    private func rehearse(_ tape: TapeRecord, _ clips: [ClipRecord], _ refused: [AddedClip]) -> ExitCode {
        let planned = clips.map { AddedClip(path: $0.source ?? [], state: .planned, clip: $0) }
        for item in planned { report(item) }
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
                outcome = try await display.albumWork { try await service.associate(tape.id) }
            } catch {
                failure = error
            }
        }
        // Positions of other clips and the playlist change in any case.
        if options.noAlbum, !kept.isEmpty {
            let order = try await session.rearrange(tape)
            console.warn(
                AlbumWarning(saved: Formats.count(kept.count, "clip"), count: kept.count, order, isOrder: true)
            )
        }
        if failure == nil, !options.noChecksum {
            try await session.checksum(kept, showing: display)
        }
        let items = items(kept, of: tape)
        for item in items { report(item) }
        warnOfChanged(kept, items)
        if let outcome {
            console.text(TextRenderer.album(outcome, style: console.outputStyle))
        }
        // The clips are reported before the store's error.
        if let failure { throw failure }
        if !kept.isEmpty, service != nil {
            console.warn(AlbumWarning(saved: Formats.count(kept.count, "clip"), count: kept.count, outcome))
        }
        let isIncomplete = !kept.isEmpty && service != nil && outcome?.isComplete != true
        return finish(tape, refused + items, outcome, isAlbumPending: options.strictAlbums && isIncomplete)
    }

    /// The clips in their state after the work on the album.
    private func items(_ kept: [ClipRecord], of tape: TapeRecord) -> [AddedClip] {
        let now = (try? session.store.clips(of: tape.id)) ?? []
        let byID = Dictionary(now.map { ($0.id, $0) }) { $1 }
        return kept.map { clip in
            AddedClip(path: clip.source ?? [], state: .added, clip: byID[clip.id] ?? clip)
        }
    }

    /// Warns about files that were modified after their upload: their clips use the current content.
    private func warnOfChanged(_ uploaded: [ClipRecord], _ items: [AddedClip]) {
        for (clip, item) in zip(uploaded, items) where clip.sha256 != nil && item.clip?.sha256 != clip.sha256 {
            console.warning("\(ErrorCatalog.quoted(item.path)) was changed since its upload")
        }
    }

    // MARK: Output

    private func report(_ item: AddedClip) {
        console.result(item)
        if let error = item.error {
            console.error(ErrorCatalog.userFacingError(of: error))
        }
    }

    private func finish(
        _ tape: TapeRecord,
        _ items: [AddedClip],
        _ outcome: AlbumOutcome?,
        notStarted: Int = 0,
        isAlbumPending: Bool = false
    ) -> ExitCode {
        let isWhole = notStarted == 0 && !isAlbumPending
        let ending = console.ending(ExitCode.batch(items.map(\.exitCode), isWhole: isWhole))
        func count(_ state: AddedClip.State) -> JSONValue { JSONValue(items.count { $0.state == state }) }
        let now = (try? session.store.tape(tape.id)) ?? tape
        let members: JSONObject = [
            "tape_id": .string(tape.id), "title": .string(now.title), "items": JSONValue(items.count + notStarted),
            "added": count(.added), "planned": count(.planned), "failed": count(.failed),
            "association": .string(now.association.rawValue), "reason": JSONValue(now.reason?.rawValue),
        ]
        return ending.runSummary(members + JSONRenderer.album(outcome) + ["dry_run": .bool(options.dryRun)])
    }
}

extension TapesSession {
    /// Reads the files of clips once to let `relink` find them. Unreadable files are skipped for now. A signal ends the
    /// work without an error, since the clips are stored.
    ///
    /// - Throws: `TapesError` if the store cannot be used.
    func checksum(_ clips: [ClipRecord], showing display: RunDisplay<TapeReading>?) async throws {
        let (editor, interruption) = (editor, console.context.interruption)
        func work() async throws {
            for (index, clip) in clips.enumerated() where interruption.signal == nil {
                display?.update(
                    TapeReading(.hashing, path: clip.source ?? [], done: Int64(index), whole: Int64(clips.count))
                )
                _ = try await interruption.canceling { try await editor.checksum(clip) }
            }
        }
        do {
            if let display { try await display.during(work) } else { try await work() }
        } catch let error as TapesError where error.code == .cancelled {
            return
        }
    }
}

struct AddedClip: Sendable {
    enum State: String, Sendable {
        case added, planned, failed
    }

    var path: [UInt8]
    var state: State
    /// The stored clip; for a planned clip, only properties of the file are valid.
    var clip: ClipRecord?
    var error: TapesError?

    var exitCode: ExitCode { ExitCode(of: error) ?? .success }
}

extension AddedClip: RunItem {
    var json: JSONObject {
        let kept = state == .added ? clip : nil
        return [
            "path": .path(path), "path_base64": .pathBase64(path), "state": .string(state.rawValue),
            "clip_id": JSONValue(kept?.id), "position": JSONValue(kept?.position), "number": JSONValue(kept?.number),
            "kind": JSONValue(clip?.kind.rawValue), "duration_ms": JSONValue(clip?.durationMilliseconds),
            "association": JSONValue(kept?.association.rawValue), "reason": JSONValue(kept?.reason?.rawValue),
            "exit_code": .exitCode(exitCode), "error": .error(error),
        ]
    }

    func text(_ style: Style) -> [String] {
        let name = TerminalText.escaped(path)
        guard let clip else { return [] }
        let length = clip.shownMilliseconds.map { ", \(Formats.clock(.milliseconds($0)))" } ?? ""
        return switch state {
        case .added:
            [
                "\(style.green("added")) \(name) as clip \(clip.position + 1) (\(TextRenderer.words(for: clip.kind))\(length))"
            ]
        case .planned: ["\(name): would be added (\(TextRenderer.words(for: clip.kind))\(length))"]
        case .failed: []
        }
    }
}
