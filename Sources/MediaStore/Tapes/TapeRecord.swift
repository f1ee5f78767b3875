public import Foundation
import GRDB

/// A titled, ordered list of clips (tapes contract 1.1).
public struct TapeRecord: Sendable, Equatable {
    /// Aspect ratio of the frame; used by exports only.
    public enum Orientation: String, Sendable, CaseIterable {
        /// 9:16
        case portrait
        /// 16:9
        case landscape
    }

    /// How a clip with a different aspect ratio fills the frame; used by exports only.
    public enum ScaleMode: String, Sendable, CaseIterable {
        /// The whole clip is visible, with bars.
        case fit
        /// The clip fills the frame; the rest of it is cropped.
        case fill
    }

    /// The transition between two clips; used by exports only.
    public enum Transition: String, Sendable, CaseIterable {
        case none
        /// One clip fades into the next.
        case crossfade
        /// The next clip slides in from the left.
        case slideLeftToRight = "slide_lr"
        /// The next clip slides in from the right.
        case slideRightToLeft = "slide_rl"
        /// One of the three transitions above, derived from the tape and therefore always the same.
        case randomise
    }

    /// The state of the tape's album (contract 2.1).
    public enum Association: String, Sendable, CaseIterable {
        /// No clip yet, or albums are disabled.
        case none
        /// The tape has clips but no usable album; a reason is stored.
        case pending = "pending_association"
        /// A link for the current library exists.
        case associated
    }

    /// UUID, lower case; created once, never reused.
    public var id: String
    /// Trimmed.
    public var title: String
    /// When the tape was created; stored with millisecond precision.
    public var createdAt: Date
    /// When title, clips or settings last changed; stored with millisecond precision.
    public var updatedAt: Date
    /// Set by the first committed clip, never cleared.
    public var hasReceivedFirstContent = false
    /// Aspect ratio of the frame.
    public var orientation = Orientation.portrait
    /// Scale mode of clips without their own.
    public var scaleMode = ScaleMode.fit
    public var transition = Transition.none
    /// Duration of a transition in milliseconds, 100 to 2000.
    public var transitionMilliseconds: Int = 500
    /// The state of its album.
    public var association = Association.none
    /// nil unless pending.
    public var reason: AssociationReason?

    /// The title of a tape created without one.
    public static let untitled = "New Tape"

    public init(id: String, title: String, createdAt: Date) {
        self.id = id
        self.title = title
        self.createdAt = createdAt
        updatedAt = createdAt
    }
}

/// Why a tape or a clip is not in its album (contract 2.3).
public enum AssociationReason: String, Sendable, CaseIterable {
    /// No attempt has been made yet.
    case neverTried = "never_tried"
    /// The library is not set up: access was not requested.
    case accessNotDetermined = "access_not_determined"
    /// The library refuses access.
    case accessDenied = "access_denied"
    /// Some permissions are missing.
    case accessLimited = "access_limited"
    /// The library at the address is not the one that has the album.
    case libraryChanged = "library_changed"
    /// The library, or this album, cannot currently be read.
    case unreachable
    /// The library no longer has the album.
    case albumMissing = "album_missing"
    /// The library refused to create the album.
    case createFailed = "create_failed"
    /// The original cannot currently be read, for example because its disk is not mounted.
    case originalUnavailable = "original_unavailable"
    /// The original was not identified in the library, and uploading it is not allowed.
    case assetUnidentified = "asset_unidentified"
    /// The library refuses the original permanently.
    case assetRejected = "asset_rejected"
    /// The library is full.
    case quota
    /// The original is larger than the library accepts; its limit may be raised.
    case tooLarge = "too_large"
    /// The library's version is not supported.
    case unsupported
    /// The server refuses the request, not a particular original, for example if the address is not Immich's.
    case rejected
    /// Anything else.
    case internalError = "internal"
}

/// A tape as shown by `list`.
public struct TapeSummary: Sendable, Equatable {
    public var tape: TapeRecord
    public var clipCount: Int
    /// Number of clips that are not in the album.
    public var pendingClipCount: Int
    /// Sum of the known durations minus the trims, in milliseconds; transitions are not subtracted.
    public var durationMilliseconds: Int64
    public var isDurationKnown: Bool
}

extension TapeRecord: Storable {
    static let table = "tapes"

    private enum CodingKeys: String, CodingKey {
        case id, title, orientation, transition, association
        case createdAt = "created_at"
        case updatedAt = "updated_at"
        case hasReceivedFirstContent = "received_first_content"
        case scaleMode = "scale_mode"
        case transitionMilliseconds = "transition_ms"
        case reason = "association_reason"
    }

    mutating func complete(from row: Row) { reason = .stored(row, with: Association(rawValue: row["association"])) }

    static func exists(_ db: Database, id: String) throws -> Bool { try Stored<Self>.exists(db, key: id) }

    /// The tapes that a name may refer to, as `LibraryStore.tapes(named:)` describes.
    static func named(_ name: String, _ db: Database) throws -> [TapeRecord] {
        let id = name.lowercased()
        if let tape = try Stored<Self>.fetchOne(db, key: id) { return [tape.value] }
        return try Stored.values(
            db,
            where: "(length(?1) >= 4 AND substr(id, 1, length(?1)) = ?1) OR title = ?2 ORDER BY created_at, rowid",
            [id, name]
        )
    }

    static func touch(_ db: Database, id: String, _ now: Date) throws {
        try db.cachedStatement(sql: "UPDATE tapes SET updated_at = ? WHERE id = ?")
            .execute(arguments: [now.milliseconds, id])
    }
}

// A setting or state added by a later version is read as `unknown`, so such a row hides neither its tape nor others; it
// stays in the row until that setting is changed.

extension TapeRecord.Orientation: Extensible { static var unknown: Self { .portrait } }

extension TapeRecord.ScaleMode: Extensible { static var unknown: Self { .fit } }

extension TapeRecord.Transition: Extensible { static var unknown: Self { .none } }

extension TapeRecord.Association: Extensible { static var unknown: Self { .pending } }

extension AssociationReason: Extensible {
    static var unknown: Self { .internalError }
}

extension AssociationReason? {
    /// A stored reason that is unknown is read as `unknown`. If the state itself is unknown, the reason
    /// is `.internalError`.
    static func stored(_ row: Row, with state: (some Any)?) -> AssociationReason? {
        guard state != nil else { return .internalError }
        return (row["association_reason"] as String?).map { AssociationReason(rawValue: $0) ?? .unknown }
    }
}

/// Tapes. Every change is one transaction, on disk when the method returns.
///
/// A setting or state added by a later version is read as the default (a state as pending, `.internalError`), and stays
/// in the row until that setting is changed: tapes contract 1.3.
extension LibraryStore {
    /// All tapes, most recently changed first, in one query that reads only an index of the clips.
    public func tapeSummaries() throws(StoreError) -> [TapeSummary] {
        try connection.readBeside { db in
            let rows = try Row.fetchCursor(db.cachedStatement(sql: Self.summaries)).map { row in
                TapeSummary(
                    tape: try Stored(row: row).value,
                    clipCount: row["clip_count"],
                    pendingClipCount: row["pending_count"],
                    durationMilliseconds: row["duration"],
                    isDurationKnown: row["unknown_count"] == 0
                )
            }
            return try Array(rows)
        }
    }

    /// Durations as in `ClipRecord.shownMilliseconds`; a live photo always has its video. `total` cannot
    /// overflow, as `sum` can.
    static let summaries = """
        SELECT tapes.*, coalesce(clip_count, 0) AS clip_count, coalesce(pending_count, 0) AS pending_count,
            coalesce(duration, 0) AS duration, coalesce(unknown_count, 0) AS unknown_count
        FROM tapes LEFT JOIN (
            SELECT tape_id, count(*) AS clip_count, sum(association <> 'linked') AS pending_count,
                CAST(total(CASE kind WHEN 'image' THEN image_ms
                    ELSE max(duration_ms - trim_start_ms - trim_end_ms, 0) END) AS INTEGER) AS duration,
                sum(kind <> 'image' AND duration_ms IS NULL) AS unknown_count
            FROM clips GROUP BY tape_id
        ) AS sums ON sums.tape_id = tapes.id
        ORDER BY tapes.updated_at DESC, tapes.rowid DESC
        """

    /// A tape; nil if there is none.
    public func tape(_ id: String) throws(StoreError) -> TapeRecord? {
        try connection.readBeside { db in try Stored<TapeRecord>.fetchOne(db, key: id)?.value }
    }

    /// The tapes that a name may refer to: the one with this ID; otherwise those whose ID begins with it (at least 4
    /// characters, ignoring case) and those with exactly this title. Both are returned, since a title may look like the
    /// beginning of an ID, and the wrong tape must not be selected.
    public func tapes(named name: String) throws(StoreError) -> [TapeRecord] {
        try connection.readBeside { db in try TapeRecord.named(name, db) }
    }

    /// Like `tapes(named:)` for the title of `new`, but stores `new` if no tape matches, in one transaction: only one
    /// of several processes creates it. Returns no tape if `new` was stored.
    ///
    /// - Throws: `StoreError`; `.other` for an ID that is not a UUID in lower case, or that already exists.
    public func tapes(orCreating new: TapeRecord) throws(StoreError) -> [TapeRecord] {
        try checkID(new.id, of: "tape")
        return try connection.write { db in
            let known = try TapeRecord.named(new.title, db)
            if known.isEmpty { try Stored(new).insert(db) }
            return known
        }
    }

    /// Stores a new tape.
    ///
    /// - Throws: `StoreError`; `.other` for an ID that is not a UUID in lower case, or that already exists.
    public func create(_ tape: TapeRecord) throws(StoreError) {
        try checkID(tape.id, of: "tape")
        try connection.write { db in try Stored(tape).insert(db) }
    }

    /// Changes the title and settings of a tape, and `updatedAt` if anything differs; ID, other times, association and
    /// first content stay the same. nil if the tape no longer exists.
    public func changeTape(
        _ id: String,
        at now: Date,
        _ change: (inout TapeRecord) -> Void
    ) throws(StoreError) -> TapeRecord? {
        try connection.write { db in
            guard let old = try Stored<TapeRecord>.fetchOne(db, key: id)?.value else { return nil }
            var wanted = old
            change(&wanted)
            var tape = old
            tape.title = wanted.title
            tape.orientation = wanted.orientation
            tape.scaleMode = wanted.scaleMode
            tape.transition = wanted.transition
            tape.transitionMilliseconds = wanted.transitionMilliseconds
            guard tape != old else { return old }
            tape.updatedAt = Date(milliseconds: now.milliseconds)
            try Stored(tape).updateChanges(db, from: Stored(old))
            return tape
        }
    }

    /// Changes only the state of a tape's album.
    public func setTapeAssociation(
        _ id: String,
        _ association: TapeRecord.Association,
        _ reason: AssociationReason?
    ) throws(StoreError) {
        try connection.write { db in
            try db.cachedStatement(sql: "UPDATE tapes SET association = ?, association_reason = ? WHERE id = ?")
                .execute(arguments: [association.rawValue, reason?.rawValue, id])
        }
    }

    /// Copies a tape with its clips under new IDs: title with ` Copy`, no link, no intent, every clip pending (rule
    /// R17). The copy is pending (never tried) if it has clips; nil if the tape no longer exists.
    public func duplicateTape(_ id: String, at now: Date) throws(StoreError) -> TapeRecord? {
        try connection.write { db in
            guard try TapeRecord.exists(db, id: id) else { return nil }
            let clips = try String.fetchAll(
                db,
                sql: "SELECT id FROM clips WHERE tape_id = ? ORDER BY position",
                arguments: [id]
            )
            let new = UUID().uuidString.lowercased()
            try db.execute(
                sql: """
                    INSERT INTO tapes (id, title, created_at, updated_at, received_first_content, orientation, scale_mode,
                        transition, transition_ms, association, association_reason)
                    SELECT ?1, title || ' Copy', ?2, ?2, ?3, orientation, scale_mode, transition, transition_ms, ?4, ?5
                    FROM tapes WHERE id = ?6
                    """,
                arguments: [
                    new, now.milliseconds, !clips.isEmpty,
                    (clips.isEmpty ? TapeRecord.Association.none : .pending).rawValue,
                    clips.isEmpty ? nil : AssociationReason.neverTried.rawValue, id,
                ]
            )
            for clip in clips { try ClipRow.copy(db, id: clip, as: UUID().uuidString.lowercased(), in: new) }
            return try Stored<TapeRecord>.fetchOne(db, key: new)?.value
        }
    }

    /// Removes a tape with all its data, and writes and returns the tombstones of its albums if they are also to be
    /// deleted, in one transaction (rule R11). An album that another tape also uses does not get a tombstone. nil if
    /// the tape no longer exists.
    public func deleteTape(_ id: String, deletingAlbums isDeletionPending: Bool) throws(StoreError) -> [AlbumTombstone]?
    {
        try connection.write { db in
            guard let tape = try Stored<TapeRecord>.fetchOne(db, key: id)?.value else { return nil }
            let links = isDeletionPending ? try Self.links(db, where: "tape_id = ?", [id]) : []
            // Clips, links, intents and assets are removed with the tape.
            try Stored<TapeRecord>.deleteOne(db, key: id)
            return try links.compactMap { link in
                let key: StatementArguments = [link.libraryID, link.albumID]
                guard try Stored<AlbumLink>.filter(sql: "library_id = ? AND album_id = ?", arguments: key).isEmpty(db)
                else { return nil }
                let stone = AlbumTombstone(libraryID: link.libraryID, albumID: link.albumID, tapeTitle: tape.title)
                try Stored(stone).save(db)
                return stone
            }
        }
    }

    /// Marks tapes that have clips, no link and no association as pending, never tried: one statement (rule R13).
    /// Returns their number.
    @discardableResult
    public func markUntriedTapes() throws(StoreError) -> Int {
        try connection.write { db in
            try db.execute(
                sql: """
                    UPDATE tapes SET association = 'pending_association', association_reason = 'never_tried'
                    WHERE association = 'none' AND EXISTS (SELECT 1 FROM clips WHERE tape_id = tapes.id)
                        AND NOT EXISTS (SELECT 1 FROM album_links WHERE tape_id = tapes.id)
                    """
            )
            return db.changesCount
        }
    }

    /// IDs become parts of file names and of data that libraries store.
    func checkID(_ id: String, of what: String) throws(StoreError) {
        guard CaptureID.isValid(id) else {
            throw StoreError(.other, path: connection.path, detail: "\"\(id)\" is not a \(what) ID")
        }
    }
}
