import Foundation
import GRDB

/// A received file with everything the database wants to know of it.
struct Submission {
    var fields: UploadFields
    var file: any ReceivedFile
    var checksum: String
    var kind: MediaKind
    var fileExtension: String
    var mimeType: String
    var sourceName: String
}

/// What became of a submission.
enum IngestOutcome: Sendable {
    /// A row for this attempt; the token only when the bytes were new.
    case stored(IngestRecord)
    /// Refused: the bytes are known (409).
    case duplicate(existingID: Int, checksum: String)
    /// The database refused a value; nothing is stored.
    case refused(message: String)
    /// The file and its token are stored, but a row that belongs to them failed (traps T7 and T26).
    case storedWithoutItem(message: String)
}

/// The facts behind a 201.
struct IngestRecord: Sendable {
    var asset: Asset
    var eventID: Int
    var itemID: Int
    var position: Int
    var eventType: String?
    var keywords: String
    var fields: UploadFields
    var deleteToken: String?
}

extension Catalog {
    /// Stores a submission by the rules of the dialect (gighive contract 3).
    ///
    /// One write transaction covers lookup and insert, so of identical uploads at one moment exactly one is new.
    func ingest(_ submission: Submission) throws -> IngestOutcome {
        try queue.write { db in
            let known = try Asset.find(checksum: submission.checksum, db)
            if let known, dialect == .d3, try isLinked(known, to: submission.fields, db) {
                return .duplicate(existingID: known.id, checksum: known.checksum)
            }
            // Only a new event takes the place (gighive contract 2.1), so only then the database sees that it is too long.
            if submission.fields.location.unicodeScalars.count > 255, try event(of: submission.fields, db) == nil {
                return .refused(message: UploadFields.tooLong("location"))
            }
            let event = try ensureEvent(submission.fields, db)
            if let known, dialect == .d2 {
                return .duplicate(existingID: known.id, checksum: known.checksum)
            }
            var token: String?
            let asset: Asset
            if let known {
                asset = known
            } else {
                let newToken = Self.newToken()
                asset = try insertAsset(submission, token: newToken, db)
                token = newToken
            }
            guard submission.fields.label.unicodeScalars.count <= 255 else {
                return .storedWithoutItem(message: UploadFields.tooLong("label"))
            }
            let record = try link(asset, to: event, submission, token: token, db)
            // D3 keeps each participant in a row of its own, and adds those last.
            let names = submission.fields.participants.split(separator: ",")
            guard dialect != .d3 || names.allSatisfy({ $0.unicodeScalars.count <= 255 }) else {
                return .storedWithoutItem(message: UploadFields.tooLong("name"))
            }
            return .stored(record)
        }
    }

    private func isLinked(_ asset: Asset, to fields: UploadFields, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: """
                SELECT EXISTS (SELECT 1 FROM event_item JOIN event ON event.id = event_item.event_id
                WHERE asset_id = ? AND event_date = ? AND org_name = ?)
                """,
            arguments: [asset.id, fields.eventDate, fields.orgName]
        ) ?? false
    }

    private func event(of fields: UploadFields, _ db: Database) throws -> Int? {
        try Int.fetchOne(
            db,
            sql: "SELECT id FROM event WHERE event_date = ? AND org_name = ?",
            arguments: [fields.eventDate, fields.orgName]
        )
    }

    func ensureEvent(_ fields: UploadFields, _ db: Database) throws -> Int {
        if let existing = try event(of: fields, db) {
            if !fields.keywords.isEmpty {
                try db.execute(
                    sql: "UPDATE event SET keywords = ? WHERE id = ?",
                    arguments: [fields.keywords, existing]
                )
            }
            return existing
        }
        try db.execute(
            sql: """
                INSERT INTO event (event_date, org_name, event_type, keywords, location, rating, notes)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                fields.eventDate, fields.orgName, fields.eventType, fields.keywords, fields.location, fields.rating,
                fields.notes,
            ]
        )
        return Int(db.lastInsertedRowID)
    }

    private func insertAsset(_ submission: Submission, token: String, _ db: Database) throws -> Asset {
        let duration = MovieDuration.seconds(ofFileAt: submission.file.path)
        let row = try Row.fetchOne(
            db,
            sql: """
                INSERT INTO asset (checksum, file_ext, file_type, mime_type, size_bytes, duration_seconds,
                    source_relpath, delete_token_hash, created_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, datetime('now')) RETURNING *
                """,
            arguments: [
                submission.checksum, submission.fileExtension, submission.kind.rawValue, submission.mimeType,
                submission.file.size, duration, submission.sourceName, Digest.hex(of: token),
            ]
        )
        guard let row else { throw DatabaseError(message: "asset was not inserted") }
        let asset = Asset(row)
        try submission.file.keep(at: folder.mediaPath(asset.kind, asset.fileName))
        return asset
    }

    private func link(
        _ asset: Asset,
        to event: Int,
        _ submission: Submission,
        token: String?,
        _ db: Database
    ) throws -> IngestRecord {
        let fields = submission.fields
        let position =
            try Int.fetchOne(
                db,
                sql: "SELECT coalesce(max(position), 0) + 1 FROM event_item WHERE event_id = ?",
                arguments: [event]
            ) ?? 1
        try db.execute(
            sql: """
                INSERT INTO event_item (event_id, asset_id, position, label, participants) VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [event, asset.id, position, fields.label, fields.participants]
        )
        let item = Int(db.lastInsertedRowID)
        let row = try Row.fetchOne(db, sql: "SELECT event_type, keywords FROM event WHERE id = ?", arguments: [event])
        var echoed = asset
        echoed.mimeType = submission.mimeType
        return IngestRecord(
            asset: echoed,
            eventID: event,
            itemID: item,
            position: position,
            eventType: row?["event_type"],
            keywords: row?["keywords"] ?? "",
            fields: fields,
            deleteToken: token
        )
    }

    /// 32 bytes in hex (gighive contract, "delete token").
    private static func newToken() -> String { hexString(markedRandomBytes(32)) }
}
