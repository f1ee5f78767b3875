public import Foundation

/// Tapes and their clips. Every change is one transaction, on the disk when the method returns.
extension LibraryStore {
    // MARK: Tapes

    /// All tapes, the one last changed first, in one query.
    ///
    /// - Throws: `StoreError`; `.corrupt` for a row that no version has written, here and below.
    public func tapeSummaries() throws(StoreError) -> [TapeSummary] { throw StoreError.notThere(connection.path) }

    /// A tape; nil when there is none.
    ///
    /// - Throws: `StoreError`.
    public func tape(_ id: String) throws(StoreError) -> TapeRecord? { throw StoreError.notThere(connection.path) }

    /// The tapes that a user may mean: the one of this id; else those whose id begins with it (4 characters at least, in
    /// either case); else those of exactly this title.
    ///
    /// - Throws: `StoreError`.
    public func tapes(named name: String) throws(StoreError) -> [TapeRecord] {
        throw StoreError.notThere(connection.path)
    }

    /// Keeps a new tape.
    ///
    /// - Throws: `StoreError`.
    public func create(_ tape: TapeRecord) throws(StoreError) { throw StoreError.notThere(connection.path) }

    /// Changes title and settings of a tape, and `updatedAt`. Its association is left alone.
    ///
    /// - Returns: The tape; nil when it is gone.
    /// - Throws: `StoreError`.
    public func changeTape(
        _ id: String,
        at now: Date,
        _ change: (inout TapeRecord) -> Void
    ) throws(StoreError) -> TapeRecord? {
        throw StoreError.notThere(connection.path)
    }

    /// Changes how a tape stands with its album, and nothing else.
    ///
    /// - Throws: `StoreError`.
    public func settleTape(
        _ id: String,
        _ association: TapeRecord.Association,
        _ reason: AssociationReason?
    ) throws(StoreError) {
        throw StoreError.notThere(connection.path)
    }

    /// Copies a tape with its clips under new ids: title with ` Copy`, no link, no intent, every clip pending (rule R17).
    ///
    /// - Returns: The copy; nil when the tape is gone.
    /// - Throws: `StoreError`.
    public func duplicateTape(_ id: String, at now: Date) throws(StoreError) -> TapeRecord? {
        throw StoreError.notThere(connection.path)
    }

    /// Removes a tape with everything of it, and writes the tombstones of its albums, in one transaction (rule R11). An
    /// album that another tape holds gets no tombstone.
    ///
    /// - Returns: The tombstones that were written; nil when the tape was gone.
    /// - Throws: `StoreError`.
    public func deleteTape(_ id: String, owing isDeletionOwed: Bool) throws(StoreError) -> [AlbumTombstone]? {
        throw StoreError.notThere(connection.path)
    }

    /// Marks tapes that have clips, no link and no association as pending, never tried: one statement (rule R13).
    ///
    /// - Returns: How many.
    /// - Throws: `StoreError`.
    @discardableResult
    public func markUntriedTapes() throws(StoreError) -> Int { throw StoreError.notThere(connection.path) }

    /// The pending tapes, the one that waits longest first.
    ///
    /// - Throws: `StoreError`.
    public func pendingTapes() throws(StoreError) -> [TapeRecord] { throw StoreError.notThere(connection.path) }

    // MARK: Clips

    /// The clips of a tape in their order.
    ///
    /// - Throws: `StoreError`.
    public func clips(of tapeID: String) throws(StoreError) -> [ClipRecord] {
        throw StoreError.notThere(connection.path)
    }

    /// Commits new clips with the state `pending`: the tape has received content, and is `pendingAssociation` unless
    /// associated already (rule R2.2).
    ///
    /// - Parameters:
    ///   - clips: Their `tapeID` and `position` are set here.
    ///   - tapeID: The tape.
    ///   - position: Clamped to 0…count; nil is the end.
    ///   - now: Becomes `updatedAt`.
    /// - Returns: The clips as kept; nil when the tape is gone.
    /// - Throws: `StoreError`.
    public func addClips(
        _ clips: [ClipRecord],
        to tapeID: String,
        at position: Int?,
        now: Date
    ) throws(StoreError) -> [ClipRecord]? {
        throw StoreError.notThere(connection.path)
    }

    /// Removes clips of a tape and closes the gaps.
    ///
    /// - Returns: The clips that were removed; an id that is not there is left out.
    /// - Throws: `StoreError`.
    public func removeClips(_ ids: [String], of tapeID: String, now: Date) throws(StoreError) -> [ClipRecord] {
        throw StoreError.notThere(connection.path)
    }

    /// Moves a clip; the position is clamped.
    ///
    /// - Returns: Its position; nil when it is gone.
    /// - Throws: `StoreError`.
    public func moveClip(_ id: String, of tapeID: String, to position: Int, now: Date) throws(StoreError) -> Int? {
        throw StoreError.notThere(connection.path)
    }

    /// Keeps changed clips: everything but id, tape, position and association. `updatedAt` of their tapes moves.
    ///
    /// - Throws: `StoreError`.
    public func changeClips(_ clips: [ClipRecord], now: Date) throws(StoreError) {
        throw StoreError.notThere(connection.path)
    }

    /// Keeps checksums, size and time that were found out; nothing else changes, `updatedAt` neither.
    ///
    /// - Throws: `StoreError`.
    public func keepChecksums(of clips: [ClipRecord]) throws(StoreError) { throw StoreError.notThere(connection.path) }

    /// All clips of all tapes that have a source, for relinking.
    ///
    /// - Throws: `StoreError`.
    public func clipsWithSources() throws(StoreError) -> [ClipRecord] { throw StoreError.notThere(connection.path) }
}

extension StoreError {
    static func notThere(_ path: String) -> StoreError { StoreError(.other, path: path, detail: "not there yet") }
}
