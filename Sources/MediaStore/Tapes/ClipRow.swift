import Foundation
import GRDB

/// Rows of the table `clips`.
///
/// As with tapes, what only a later version knows is read as what asks for least and stays in the row; but a clip whose very
/// kind is unknown cannot be used, and makes the clips of its tape unreadable.
enum ClipRow {
    private static let names = [
        "id", "tape_id", "position", "kind", "source", "paired_source", "size", "mtime_ns", "sha1", "sha256",
        "duration_ms", "trim_start_ms", "trim_end_ms", "rotate_quarter_turns", "scale_override", "volume", "image_ms",
        "association", "association_reason", "attempts", "next_attempt_at",
    ]

    /// In the order in which `clip` reads them.
    private static let columns = names.joined(separator: ", ")

    static func fetch(_ db: Database, where condition: String, _ arguments: StatementArguments) throws -> [ClipRecord] {
        let sql = "SELECT \(columns) FROM clips WHERE \(condition) ORDER BY tape_id, position"
        return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: arguments).map(clip)
    }

    static func fetch(_ db: Database, id: String) throws -> ClipRecord? { try fetch(db, where: "id = ?", [id]).first }

    static func count(_ db: Database, of tapeID: String) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM clips WHERE tape_id = ?"),
            arguments: [tapeID]
        ) ?? 0
    }

    static func stored(_ clip: ClipRecord) -> StoredColumns {
        StoredColumns([
            "id": clip.id, "tape_id": clip.tapeID, "position": clip.position, "kind": clip.kind.rawValue,
            "source": clip.source.map { Data($0) }, "paired_source": clip.pairedSource.map { Data($0) },
            "size": clip.size, "mtime_ns": clip.modifiedNanoseconds, "sha1": clip.sha1, "sha256": clip.sha256,
            "duration_ms": clip.durationMilliseconds, "trim_start_ms": clip.trimStartMilliseconds,
            "trim_end_ms": clip.trimEndMilliseconds, "rotate_quarter_turns": clip.rotateQuarterTurns,
            "scale_override": clip.scaleOverride?.rawValue, "volume": clip.volume,
            "image_ms": clip.imageMilliseconds, "association": clip.association.rawValue,
            "association_reason": clip.reason?.rawValue, "attempts": clip.attempts,
            "next_attempt_at": clip.nextAttemptAt?.milliseconds,
        ])
    }

    /// - Throws: `StoreError` `.corrupt`, naming the clip, for an unknown kind.
    private static func clip(_ row: Row) throws -> ClipRecord {
        let id: String = row[0]
        guard let kind = ClipRecord.Kind(rawValue: row[3]) else {
            throw StoreError(
                .corrupt,
                path: StoreSchema.library.fileName,
                detail: "clip \(id) has an unknown kind"
            )
        }
        var clip = ClipRecord(id: id, tapeID: row[1], position: row[2], kind: kind, source: bytes(row[4]))
        clip.pairedSource = bytes(row[5])
        clip.size = row[6]
        clip.modifiedNanoseconds = row[7]
        clip.sha1 = row[8]
        clip.sha256 = row[9]
        clip.durationMilliseconds = row[10]
        clip.trimStartMilliseconds = row[11]
        clip.trimEndMilliseconds = row[12]
        clip.rotateQuarterTurns = row[13]
        clip.scaleOverride = (row[14] as String?).flatMap(TapeRecord.ScaleMode.init)
        clip.volume = row[15]
        clip.imageMilliseconds = row[16]
        if let association = ClipRecord.Association(rawValue: row[17]) {
            clip.association = association
            clip.reason = TapeRow.reason(row[18])
        } else {
            // Not tried again by us.
            clip.association = .failed
            clip.reason = .internalError
        }
        clip.attempts = row[19]
        clip.nextAttemptAt = (row[20] as Int64?).map(Date.init(milliseconds:))
        return clip
    }

    private static func bytes(_ data: Data?) -> [UInt8]? { data.map { [UInt8]($0) } }

    // MARK: States

    /// Nothing of them is in an album.
    static func makePending(_ db: Database, of tapeID: String) throws {
        try db.cachedStatement(
            sql: """
                UPDATE clips SET association = 'pending', association_reason = NULL, attempts = 0, next_attempt_at = NULL
                WHERE tape_id = ?
                """
        ).execute(arguments: [tapeID])
    }

    /// Copies a clip as it is, whatever this version knows of it, but for its state.
    static func copy(_ db: Database, id: String, as new: String, in tapeID: String) throws {
        let copied = names.dropFirst(2).filter { !states.contains($0) }.joined(separator: ", ")
        try db.cachedStatement(
            sql: "INSERT INTO clips (id, tape_id, \(copied)) SELECT ?, ?, \(copied) FROM clips WHERE id = ?"
        ).execute(arguments: [new, tapeID, id])
    }

    private static let states: Set = ["association", "association_reason", "attempts", "next_attempt_at"]

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
        try settle(db, of: tapeID)
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

    /// Positions are unique at every moment, so the new ones are first written below zero.
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
        try settle(db, of: tapeID)
    }

    private static func settle(_ db: Database, of tapeID: String) throws {
        try db.cachedStatement(sql: "UPDATE clips SET position = -1 - position WHERE tape_id = ? AND position < 0")
            .execute(arguments: [tapeID])
    }
}
