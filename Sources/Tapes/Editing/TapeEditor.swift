public import Foundation
public import MediaStore

/// Tapes and their clips, without albums: what commands do to a tape before the album service hears of it. Never touches an
/// original.
public struct TapeEditor: Sendable {
    /// Keeps tapes and clips.
    public let store: LibraryStore
    /// This machine's clock.
    public let now: @Sendable () -> Date

    /// Makes an editor.
    public init(store: LibraryStore, now: @escaping @Sendable () -> Date = { Date() }) {
        self.store = store
        self.now = now
    }

    /// The one tape that a user means by id, prefix of an id (4 characters at least) or exact title.
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.tapeAmbiguous` with the ids, `.storeUnusable`.
    public func tape(named name: String) throws(TapesError) -> TapeRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// The one clip of a tape that a user means by id, prefix of an id (4 characters at least), or `#N`, its place from 1.
    ///
    /// - Throws: `TapesError` `.clipNotFound`, `.storeUnusable`.
    public func clip(named name: String, of tape: TapeRecord) throws(TapesError) -> ClipRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Makes a tape. A title of blanks becomes `New Tape`.
    ///
    /// - Throws: `TapesError` `.storeUnusable`.
    public func create(title: String) throws(TapesError) -> TapeRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Gives a tape another title; its album keeps the one it has (rule R8).
    ///
    /// - Throws: `TapesError` `.titleEmpty`, `.tapeNotFound`, `.storeUnusable`.
    public func rename(_ tape: TapeRecord, to title: String) throws(TapesError) -> TapeRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Copies a tape and its clips (rule R17).
    ///
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`.
    public func duplicate(_ tape: TapeRecord) throws(TapesError) -> TapeRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Examines a file (step 1 of rule R2): an absolute path, what it shows, how long it is. Reads a few blocks.
    ///
    /// - Parameters:
    ///   - path: As given, as bytes; a relative one starts at the current directory. Links are not resolved.
    ///   - allowingMissing: Whether a file that is not there is taken by its extension.
    /// - Throws: `TapesError` `.fileNotFound`, `.fileUnreadable`, `.notRegularFile`, `.emptyFile`, `.unknownMediaType`.
    public func inspect(_ path: [UInt8], allowingMissing: Bool) throws(TapesError) -> ClipRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Makes each still with a video of the same stem in the same directory, both in the list, one live picture.
    public func pairingLivePictures(_ clips: [ClipRecord]) -> [ClipRecord] { clips }

    /// Commits clips (step 2 of rule R2): from here on nothing undoes them.
    ///
    /// - Parameters:
    ///   - clips: From `inspect`.
    ///   - tape: A tape.
    ///   - position: Clamped to 0…count; nil is the end.
    /// - Throws: `TapesError` `.tapeNotFound`, `.storeUnusable`.
    public func add(
        _ clips: [ClipRecord],
        to tape: TapeRecord,
        at position: Int? = nil
    ) throws(TapesError) -> [ClipRecord] {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Moves a clip; the position, from 0, is clamped.
    ///
    /// - Throws: `TapesError` `.clipNotFound`, `.storeUnusable`.
    public func move(_ clip: ClipRecord, to position: Int) throws(TapesError) -> Int {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Changes settings of a tape.
    ///
    /// - Throws: `TapesError` `.outOfRange`, `.tapeNotFound`, `.storeUnusable`.
    public func set(_ change: TapeChange, on tape: TapeRecord) throws(TapesError) -> TapeRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Changes how a clip is shown.
    ///
    /// - Throws: `TapesError` `.outOfRange`, `.trimTooLong`, `.notForThisKind`, `.clipNotFound`, `.storeUnusable`.
    public func set(_ change: ClipChange, on clip: ClipRecord) throws(TapesError) -> ClipRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Finds originals that have moved, by checksum: walks directories, reads files of the right length only, and points
    /// the clips at what they find. An original that is still at its place is left alone.
    ///
    /// Cancelling ends it with `.cancelled`; nothing is changed then.
    ///
    /// - Parameters:
    ///   - tapes: Of these tapes; empty is of all.
    ///   - directories: Where to look, as bytes.
    ///   - isDryRun: Whether nothing is to be changed.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func relink(
        _ tapes: [TapeRecord],
        in directories: [[UInt8]],
        isDryRun: Bool
    ) async throws(TapesError) -> [RelinkResult] {
        throw TapesError(.internalError, detail: "not there yet")
    }

    /// Makes the checksums that a clip lacks, or whose file has changed: SHA-1 and SHA-256 in one reading.
    ///
    /// Cancelling ends it with `.cancelled`.
    ///
    /// - Returns: The clip, kept; unchanged when its original cannot be read.
    /// - Throws: `TapesError` `.storeUnusable`, `.cancelled`.
    public func checksum(_ clip: ClipRecord) async throws(TapesError) -> ClipRecord {
        throw TapesError(.internalError, detail: "not there yet")
    }
}

/// Settings of a tape to change; nil leaves one as it is.
public struct TapeChange: Sendable, Equatable {
    /// Shape of the picture.
    public var orientation: TapeRecord.Orientation?
    /// Of clips without their own.
    public var scaleMode: TapeRecord.ScaleMode?
    /// Between two clips.
    public var transition: TapeRecord.Transition?
    /// 100 to 2000.
    public var transitionMilliseconds: Int?

    /// Changes nothing.
    public init() {}
}

/// Settings of a clip to change; nil leaves one as it is.
public struct ClipChange: Sendable, Equatable {
    /// Videos only.
    public var trimStartMilliseconds: Int64?
    /// Videos only.
    public var trimEndMilliseconds: Int64?
    /// 0 to 3, clockwise.
    public var rotateQuarterTurns: Int?
    /// `.some(nil)` is the tape's again.
    public var scaleOverride: TapeRecord.ScaleMode??
    /// 0 to 1; `.some(nil)` is full again. Videos and live pictures only.
    public var volume: Double??
    /// How long a still is shown, 1 to 3,600,000. Stills only.
    public var imageMilliseconds: Int64?

    /// Changes nothing.
    public init() {}
}

/// What became of one clip in `relink`.
public struct RelinkResult: Sendable, Equatable {
    /// What became of it.
    public enum State: Sendable, Equatable {
        /// Still there.
        case present
        case found([UInt8])
        case notFound
        /// Nothing is known that would identify it.
        case noChecksum
    }

    /// The clip as it was.
    public var clip: ClipRecord
    /// What became of it.
    public var state: State

    /// Makes a result.
    public init(clip: ClipRecord, state: State) {
        self.clip = clip
        self.state = state
    }
}
