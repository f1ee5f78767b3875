internal import GigHive
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import Synchronization
internal import Tapes

/// The tape to which an upload adds clips: each file on the server becomes a clip, once. Failures that concern the tape
/// or album are warnings and do not affect the result of the upload.
final class UploadTape: Sendable {
    private struct State {
        /// nil until the first clip creates the tape.
        var tape: TapeRecord?
        /// Number of clips before the run.
        var firstPosition = 0
        /// Originals in the tape.
        var sources: Set<[UInt8]> = []
        /// Indexes of the files that became clips.
        var indices: [Int] = []
        /// New clips that are not yet in the album.
        var fresh: [ClipRecord] = []
    }

    private let session: TapesSession
    private let title: String
    private let state: Mutex<State>
    private let failureWarning = Once()

    private var console: Console { session.console }

    private init(_ session: TapesSession, title: String, tape: TapeRecord?, clips: [ClipRecord]) {
        self.session = session
        self.title = title
        state = Mutex(
            State(tape: tape, firstPosition: clips.count, sources: Set(clips.compactMap(\.source)))
        )
    }

    /// Finds the tape; a missing one is created with its first clip. Returns nil if `name` is nil, or, with a warning,
    /// if the store cannot be used.
    ///
    /// - Throws: `TapesError` if several tapes match; `UserFacingError` if the name is not UTF-8.
    static func open(_ name: String?, _ settings: SettingsSession) throws -> UploadTape? {
        guard let name else { return nil }
        let title = try RawArguments.title(name)
        do {
            let session = try TapesSession.open(settings)
            return try find(title, in: session)
        } catch let error as TapesError where error.code == .tapeAmbiguous {
            throw error
        } catch {
            settings.console.warning(
                "files are not added to a tape: \(ErrorCatalog.userFacingError(of: error).message)"
            )
            return nil
        }
    }

    private static func find(_ title: String, in session: TapesSession) throws -> UploadTape {
        do {
            let tape = try session.editor.tape(named: title)
            return UploadTape(session, title: tape.title, tape: tape, clips: try session.store.clips(of: tape.id))
        } catch let error as TapesError where error.code == .tapeNotFound {
            return UploadTape(session, title: title, tape: nil, clips: [])
        }
    }

    // MARK: Clips

    /// Adds an uploaded file as a clip. Clips are in the order of the files, regardless of the order in which they are
    /// uploaded.
    func take(_ index: Int, _ result: UploadResult) async {
        guard [.done, .linked, .duplicate].contains(result.state) else { return }
        guard result.path != Array("-".utf8) else {
            return console.warning(
                "standard input is not a file and is not added to the tape \(ErrorCatalog.quoted(title))"
            )
        }
        do throws(TapesError) {
            try await BlockingWork.run { [self] () throws(TapesError) in try add(index, result.path) }
        } catch {
            reportFailure(error, of: result.path)
        }
    }

    private func add(_ index: Int, _ path: [UInt8]) throws(TapesError) {
        let editor = session.editor
        let clip = try editor.inspect(path, allowingMissing: false)
        let made = try state.withLock { (state) throws(TapesError) -> TapeRecord? in
            guard let source = clip.source, !state.sources.contains(source) else { return nil }
            let (tape, isNew) = try self.tape(&state)
            guard !state.sources.contains(source) else { return nil }
            let position = state.firstPosition + state.indices.count { $0 < index }
            state.fresh += try editor.add([clip], to: tape, at: position)
            state.sources.insert(source)
            state.indices.append(index)
            return isNew ? tape : nil
        }
        if let tape = made {
            console.note("created the tape \(ErrorCatalog.quoted(tape.title)) as \(tape.id)")
        }
    }

    /// The tape, created unless another process has created it in the meantime; new clips then follow the clips added
    /// by that process.
    private func tape(_ state: inout State) throws(TapesError) -> (tape: TapeRecord, isNew: Bool) {
        if let known = state.tape { return (known, false) }
        let (tape, clips) = try session.editor.tape(namedOrCreated: title)
        state.tape = tape
        state.firstPosition = clips?.count ?? 0
        state.sources.formUnion((clips ?? []).compactMap(\.source))
        return (tape, clips == nil)
    }

    /// Warns about each file that cannot be a clip; about any other failure once, since every file would fail in the
    /// same way.
    private func reportFailure(_ error: TapesError, of path: [UInt8]) {
        let userFacingError = ErrorCatalog.userFacingError(of: error)
        guard userFacingError.exitCode != .usage else {
            return console.warning("not in the tape \(ErrorCatalog.quoted(title)): \(userFacingError.message)")
        }
        if failureWarning.begin() {
            console.warning(
                "\(ErrorCatalog.quoted(path)) is not in the tape \(ErrorCatalog.quoted(title)): \(userFacingError.message)"
            )
        }
    }

    // MARK: Album

    func rehearse() {
        let isKnown = state.withLock { $0.tape != nil }
        console.note(
            "the files would be in the tape \(ErrorCatalog.quoted(title))\(isKnown ? "" : ", which would be created")"
        )
    }

    /// Adds the clips to the album, unless a signal has stopped the run; then they stay pending until the next add.
    /// `showsProgress` must be false if anything else is drawn on the terminal.
    func conclude(showsProgress: Bool = true) async {
        let (tape, fresh) = state.withLock { state in
            defer { state.fresh = [] }
            return (state.tape, state.fresh)
        }
        guard let tape, !fresh.isEmpty else { return }
        let count = fresh.count
        let clips = Formats.count(count, "clip")
        console.note("\(clips) added to the tape \(ErrorCatalog.quoted(tape.title))")
        do {
            let display = RunDisplay<TapeReading>(console, writesRecords: false)
            let service = try session.keptService(progress: showsProgress ? display : nil)
            let outcome = try await display.albumWork { try await service.associate(tape.id) }
            console.warn(AlbumWarning(saved: clips, count: count, outcome))
            try await session.checksum(fresh, showing: showsProgress ? display : nil)
        } catch {
            console.warning(
                "\(clips) saved; the album was not updated: \(ErrorCatalog.userFacingError(of: error).message)"
            )
        }
    }
}
