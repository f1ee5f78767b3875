public import Foundation
import GRDB

/// One use of a media file in a tape (tapes contract 1.2). An original that occurs twice in a tape is two clips.
public struct ClipRecord: Sendable, Equatable {
    /// The kind of media.
    public enum Kind: String, Sendable, CaseIterable, Codable {
        case video
        /// A still image.
        case image
        /// A still image with its paired video file.
        case live
    }

    /// The state of a clip in the album of its tape (contract 2.2).
    public enum Association: String, Sendable, CaseIterable {
        /// Not in the album yet.
        case pending
        /// In the album.
        case linked
        /// The library refused it permanently.
        case failed
        /// Cannot be linked: the original is not identified, and uploading is disabled.
        case unlinkable
    }

    /// UUID, lower case.
    public var id: String
    public var tapeID: String
    /// Position in the tape, from 0 without gaps.
    public var position: Int
    public var kind: Kind
    /// Absolute path, as bytes.
    public var source: [UInt8]?
    /// Absolute path of the video of a live photo, as bytes.
    public var pairedSource: [UInt8]?
    /// Length in bytes when the checksums were computed.
    public var size: Int64?
    /// Time of last modification when the checksums were computed, nanoseconds since 1970.
    public var modifiedNanoseconds: Int64?
    /// 40 lowercase hexadecimal characters; valid only while size and time still match.
    public var sha1: String?
    /// 64 lowercase hexadecimal characters; valid only while size and time still match.
    public var sha256: String?
    /// Duration in milliseconds; nil if unknown, not 0.
    public var durationMilliseconds: Int64?
    /// Trimmed from the beginning, in milliseconds; videos only.
    public var trimStartMilliseconds: Int64 = 0
    /// Trimmed from the end, in milliseconds; videos only.
    public var trimEndMilliseconds: Int64 = 0
    /// Clockwise quarter turns, 0 to 3.
    public var rotateQuarterTurns = 0
    /// The scale mode; nil for the tape's scale mode.
    public var scaleOverride: TapeRecord.ScaleMode?
    /// The volume, 0 to 1; nil for full volume.
    public var volume: Double?
    /// Display time of a still image, in milliseconds.
    public var imageMilliseconds: Int64 = 4000
    /// The state of the clip in the album.
    public var association = Association.pending
    /// Why the clip is not in the album.
    public var reason: AssociationReason?
    /// Number of consecutive failed attempts.
    public var attempts = 0
    /// Time before which the clip is not retried automatically.
    public var nextAttemptAt: Date?

    /// Creates a clip of which only the original is known.
    public init(id: String, tapeID: String, position: Int = 0, kind: Kind, source: [UInt8]?) {
        self.id = id
        self.tapeID = tapeID
        self.position = position
        self.kind = kind
        self.source = source
    }
}

extension ClipRecord {
    /// Displayed duration in milliseconds; nil if unknown. A still is shown for its display time; a live photo, for the
    /// duration of its video. Trims that exceed a clip result in 0, never less (tapes contract trap 20).
    /// `LibraryStore.summaries` computes the same sums in SQL.
    package var shownMilliseconds: Int64? {
        switch kind {
        case .image: imageMilliseconds
        case .live: pairedSource == nil ? imageMilliseconds : durationMilliseconds
        case .video: durationMilliseconds.map { max(0, $0 - trimStartMilliseconds - trimEndMilliseconds) }
        }
    }
}

/// As with tapes, a value added by a later version is read as `unknown` and stays in the row; but a clip of unknown
/// kind cannot be used, and makes the clips of its tape unreadable.
extension ClipRecord: Storable {
    static let table = "clips"

    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, position, kind, source, size, sha1, sha256, volume, association, attempts
        case tapeID = "tape_id"
        case pairedSource = "paired_source"
        case modifiedNanoseconds = "mtime_ns"
        case durationMilliseconds = "duration_ms"
        case trimStartMilliseconds = "trim_start_ms"
        case trimEndMilliseconds = "trim_end_ms"
        case rotateQuarterTurns = "rotate_quarter_turns"
        case scaleOverride = "scale_override"
        case imageMilliseconds = "image_ms"
        case reason = "association_reason"
        case nextAttemptAt = "next_attempt_at"
    }

    mutating func complete(from row: Row) { reason = .stored(row, with: Association(rawValue: row["association"])) }
}

extension ClipRecord.Association: Extensible {
    /// Not retried by this version.
    static var unknown: Self { .failed }
}

/// Statements on the table `clips`.
enum ClipRow {
    static func fetch(_ db: Database, where condition: String, _ arguments: StatementArguments) throws -> [ClipRecord] {
        try Stored.values(db, where: "\(condition) ORDER BY tape_id, position", arguments)
    }

    static func count(_ db: Database, of tapeID: String) throws -> Int {
        try Stored<ClipRecord>.filter(Column("tape_id") == tapeID).fetchCount(db)
    }

    // MARK: States

    /// Marks all clips of a tape as pending: none is in an album.
    static func makePending(_ db: Database, of tapeID: String) throws {
        try db.cachedStatement(
            sql: """
                UPDATE clips SET association = 'pending', association_reason = NULL, attempts = 0, next_attempt_at = NULL
                WHERE tape_id = ?
                """
        ).execute(arguments: [tapeID])
    }

    /// Copies all columns of a clip, including those unknown to this version, except its state.
    static func copy(_ db: Database, id: String, as new: String, in tapeID: String) throws {
        let own: Set<ClipRecord.CodingKeys> = [.id, .tapeID, .association, .reason, .attempts, .nextAttemptAt]
        let copied = ClipRecord.CodingKeys.allCases.filter { !own.contains($0) }.map(\.rawValue).joined(separator: ", ")
        try db.cachedStatement(
            sql: "INSERT INTO clips (id, tape_id, \(copied)) SELECT ?, ?, \(copied) FROM clips WHERE id = ?"
        ).execute(arguments: [new, tapeID, id])
    }

    // MARK: Positions

    /// Makes room for clips.
    static func open(_ db: Database, _ count: Int, at position: Int, of tapeID: String) throws {
        try shift(db, "position + ?", [count], where: "position >= ?", [position], of: tapeID)
    }

    /// Closes the gaps.
    static func close(_ db: Database, of tapeID: String) throws {
        try db.cachedStatement(
            sql: """
                UPDATE clips SET position = -1 - places.place
                FROM (SELECT id, row_number() OVER (ORDER BY position) - 1 AS place FROM clips WHERE tape_id = ?) AS places
                WHERE clips.id = places.id AND clips.position <> places.place
                """
        ).execute(arguments: [tapeID])
        try applyPositions(db, of: tapeID)
    }

    static func move(_ db: Database, _ clip: ClipRecord, to position: Int) throws {
        let step = position < clip.position ? 1 : -1
        try shift(
            db,
            "CASE id WHEN ? THEN ? ELSE position + ? END",
            [clip.id, position, step],
            where: "position BETWEEN ? AND ?",
            [min(position, clip.position), max(position, clip.position)],
            of: clip.tapeID
        )
    }

    /// Positions must be unique after every statement, so the new ones are first written as negative numbers.
    private static func shift(
        _ db: Database,
        _ position: String,
        _ positionArguments: StatementArguments,
        where condition: String,
        _ conditionArguments: StatementArguments,
        of tapeID: String
    ) throws {
        try db.cachedStatement(
            sql: "UPDATE clips SET position = -1 - (\(position)) WHERE \(condition) AND tape_id = ?"
        ).execute(arguments: positionArguments + conditionArguments + [tapeID])
        try applyPositions(db, of: tapeID)
    }

    private static func applyPositions(_ db: Database, of tapeID: String) throws {
        try db.cachedStatement(sql: "UPDATE clips SET position = -1 - position WHERE tape_id = ? AND position < 0")
            .execute(arguments: [tapeID])
    }
}

/// Clips of tapes. Every change is one transaction, on disk when the method returns; positions are dense
/// from 0 after each.
///
/// A clip whose kind was added by a later version makes the methods that read clips of its tape throw `.corrupt`; it
/// can be neither shown nor exported, but nothing removes it. Other values are read as for tapes; an unknown state is
/// read as failed, `.internalError`, which this version does not retry.
extension LibraryStore {
    /// The clips of a tape in their order.
    public func clips(of tapeID: String) throws(StoreError) -> [ClipRecord] {
        try connection.readBeside { db in try ClipRow.fetch(db, where: "tape_id = ?", [tapeID]) }
    }

    /// Commits new clips with the state `pending`, at a position that is clamped to 0…count (nil is the end): the tape
    /// has received content, and its association becomes `pending` unless it is `associated` (rule R2.2). Their
    /// `tapeID`, `position` and state are set here. Returns the clips as stored; nil if the tape no longer exists.
    /// `.other` for an ID that is not a UUID in lower case, or that already exists.
    public func addClips(
        _ clips: [ClipRecord],
        to tapeID: String,
        at position: Int?,
        now: Date
    ) throws(StoreError) -> [ClipRecord]? {
        for clip in clips { try checkID(clip.id, of: "clip") }
        return try connection.write { db in
            guard try TapeRecord.exists(db, id: tapeID) else { return nil }
            guard !clips.isEmpty else { return [] }
            let count = try ClipRow.count(db, of: tapeID)
            let start = min(max(position ?? count, 0), count)
            if start < count { try ClipRow.open(db, clips.count, at: start, of: tapeID) }
            var kept: [ClipRecord] = []
            for (place, clip) in clips.enumerated() {
                var new = clip
                new.tapeID = tapeID
                new.position = start + place
                new.association = .pending
                new.reason = nil
                new.attempts = 0
                new.nextAttemptAt = nil
                try Stored(new).insert(db)
                kept.append(new)
            }
            try db.execute(
                sql: """
                    UPDATE tapes SET updated_at = ?, received_first_content = 1,
                        association_reason = iif(association = 'none', 'never_tried', association_reason),
                        association = iif(association = 'none', 'pending_association', association)
                    WHERE id = ?
                    """,
                arguments: [now.milliseconds, tapeID]
            )
            return kept
        }
    }

    /// Removes clips of a tape, closes the gaps, and returns the removed clips in their order. An ID that does not
    /// exist, or belongs to a different tape, is skipped.
    public func removeClips(_ ids: [String], of tapeID: String, now: Date) throws(StoreError) -> [ClipRecord] {
        try connection.write { db in
            var removed: [ClipRecord] = []
            for id in Set(ids) {
                removed += try ClipRow.fetch(db, where: "id = ? AND tape_id = ?", [id, tapeID])
                try db.cachedStatement(sql: "DELETE FROM clips WHERE id = ? AND tape_id = ?")
                    .execute(arguments: [id, tapeID])
            }
            guard !removed.isEmpty else { return [] }
            try ClipRow.close(db, of: tapeID)
            try TapeRecord.touch(db, id: tapeID, now)
            return removed.sorted { $0.position < $1.position }
        }
    }

    /// Moves a clip to a position (counted from 0 and clamped), and returns the position; nil if the clip no longer
    /// exists.
    public func moveClip(_ id: String, of tapeID: String, to position: Int, now: Date) throws(StoreError) -> Int? {
        try connection.write { db in
            guard let clip = try ClipRow.fetch(db, where: "id = ? AND tape_id = ?", [id, tapeID]).first else {
                return nil
            }
            let place = min(max(position, 0), try ClipRow.count(db, of: tapeID) - 1)
            guard place != clip.position else { return place }
            try ClipRow.move(db, clip, to: place)
            try TapeRecord.touch(db, id: tapeID, now)
            return place
        }
    }

    /// Changes the current clips, all in one transaction: everything but ID, tape, position and association. Updates
    /// `updatedAt` of the tapes whose clips have changed. Returns the clips as they are afterwards; a clip that no
    /// longer exists is skipped, or, with `requiringAll`, prevents all changes. A clip with a different source becomes
    /// pending again, and its assets are discarded: libraries also identify originals by their path.
    ///
    /// - Throws: `StoreError`; `.other` for an error thrown by `change`, which prevents all changes.
    @discardableResult
    public func changeClips(
        _ ids: [String],
        at now: Date,
        requiringAll: Bool = false,
        _ change: (inout ClipRecord) throws -> Void
    ) throws(StoreError) -> [ClipRecord] {
        try connection.write { db in
            let current = try ids.compactMap { try Stored<ClipRecord>.fetchOne(db, key: $0)?.value }
            guard !requiringAll || current.count == ids.count else { return current }
            var clips: [ClipRecord] = []
            var changed: Set<String> = []
            for old in current {
                var new = old
                try change(&new)
                try Self.complete(&new, from: old, db)
                if try Stored(new).updateChanges(db, from: Stored(old)) { changed.insert(old.tapeID) }
                clips.append(new)
            }
            for tapeID in changed { try TapeRecord.touch(db, id: tapeID, now) }
            return clips
        }
    }

    private static func complete(_ new: inout ClipRecord, from old: ClipRecord, _ db: Database) throws {
        new.id = old.id
        new.tapeID = old.tapeID
        new.position = old.position
        let isMoved = new.source != old.source || new.pairedSource != old.pairedSource
        if isMoved {
            try db.execute(sql: "DELETE FROM clip_assets WHERE clip_id = ?", arguments: [old.id])
        }
        new.association = isMoved ? .pending : old.association
        new.reason = isMoved ? nil : old.reason
        new.attempts = isMoved ? 0 : old.attempts
        new.nextAttemptAt = isMoved ? nil : old.nextAttemptAt
    }

    /// Stores computed checksums, size and time; nothing else changes, not even `updatedAt`. A clip that no longer
    /// exists, or now has a different source, is skipped.
    public func keepChecksums(of clips: [ClipRecord]) throws(StoreError) {
        guard !clips.isEmpty else { return }
        try connection.write { db in
            for clip in clips {
                try db.cachedStatement(
                    sql: "UPDATE clips SET size = ?, mtime_ns = ?, sha1 = ?, sha256 = ? WHERE id = ? AND source IS ?"
                ).execute(arguments: [
                    clip.size, clip.modifiedNanoseconds, clip.sha1, clip.sha256, clip.id, clip.source.map { Data($0) },
                ])
            }
        }
    }

    /// All clips of all tapes that have a source, for relinking; clips of an unknown kind are skipped.
    public func clipsWithSources() throws(StoreError) -> [ClipRecord] {
        let kinds = ClipRecord.Kind.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return try connection.readBeside { db in
            try ClipRow.fetch(db, where: "source IS NOT NULL AND kind IN (\(kinds))", [])
        }
    }
    /// Paths of all originals in all tapes, including the videos of live photos, regardless of the kind of their clips.
    public func originalPaths() throws(StoreError) -> [[UInt8]] {
        try connection.readBeside { db in
            try Data.fetchAll(
                db,
                sql: """
                    SELECT source FROM clips WHERE source IS NOT NULL
                    UNION SELECT paired_source FROM clips WHERE paired_source IS NOT NULL
                    """
            ).map { Array($0) }
        }
    }
}
