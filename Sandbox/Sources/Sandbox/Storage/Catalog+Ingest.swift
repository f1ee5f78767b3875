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

/// The result of a submission.
enum IngestOutcome: Sendable {
    /// A row for this attempt; the token only when the bytes were new.
    case stored(IngestRecord)
    /// Refused: the bytes are known (409).
    case duplicate(existingID: Int, checksum: String)
    /// The file and its token are stored, then the database refused a longer text (traps T7 and T26).
    case storedThenFailed(message: String)
    /// The database refused a text before anything was stored (500).
    case refused(message: String)
    /// A lost race (500).
    case collision(DuplicateEntry, on: CollidingKey)
}

extension IngestOutcome {
    /// Whether the bytes of a tus upload are gone: what fails at the event comes before they are moved.
    var usesUpBytes: Bool {
        switch self {
        case .refused, .collision(_, on: .event): false
        case .stored, .duplicate, .storedThenFailed, .collision: true
        }
    }
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
    /// What an upload has looked up before its bytes are put away.
    private enum Claim {
        case over(IngestOutcome)
        case open(event: Int, position: Int)
    }

    /// Stores a submission by the rules of the dialect (gighive contract 3).
    ///
    /// Without a race window one transaction covers look-up and insert, so nothing collides. With one, other uploads can
    /// come between, as on the real servers.
    func ingest(_ submission: Submission, collidingOn forced: CollidingKey? = nil) async throws -> IngestOutcome {
        guard let raceWindow else { return try ingestAtOnce(submission, forced) }
        let seen = try read { try event(of: submission.fields, $0) }
        if seen == nil { try await Task.sleep(for: .seconds(raceWindow)) }
        switch try write({ try claim(submission, seen: seen, forced, $0) }) {
        case .over(let outcome): return outcome
        case .open(let event, let position):
            try await Task.sleep(for: .seconds(raceWindow))
            return try write { try store(submission, event: event, position: position, forced, $0) }
        }
    }

    private func ingestAtOnce(_ submission: Submission, _ forced: CollidingKey?) throws -> IngestOutcome {
        try write { db in
            let seen = try event(of: submission.fields, db)
            switch try claim(submission, seen: seen, forced, db) {
            case .over(let outcome): return outcome
            case .open(let event, let position):
                return try store(submission, event: event, position: position, forced, db)
            }
        }
    }

    /// Finds or creates the event, and takes the next number in it; nothing is stored yet.
    private func claim(
        _ submission: Submission,
        seen: Int?,
        _ forced: CollidingKey?,
        _ db: Database
    ) throws -> Claim {
        let fields = submission.fields
        let isLate = try seen == nil && event(of: fields, db) != nil
        let event: Int
        do {
            event = try ensureEvent(fields, db)
        } catch UploadFields.Refusal.database(let message) {
            return .over(.refused(message: message))
        }
        if isLate || forced == .event {
            let orgName = OrganizationName.stored(fields.orgName, dialect)
            return .over(
                .collision(.event(date: fields.eventDate, orgName: orgName, dialect), on: .event)
            )
        }
        let position = try nextPosition(in: event, db)
        guard dialect != .d1, let known = try Asset.find(checksum: submission.checksum, db) else {
            return .open(event: event, position: position)
        }
        if try dialect == .d2 || isLinked(known, to: event, db) {
            return .over(.duplicate(existingID: known.id, checksum: known.checksum))
        }
        return .over(try link(known, to: event, at: position, submission, token: nil, db))
    }

    /// Puts the bytes away and makes the rows.
    private func store(
        _ submission: Submission,
        event: Int,
        position: Int,
        _ forced: CollidingKey?,
        _ db: Database
    ) throws -> IngestOutcome {
        if forced == .checksum { try storeForAnother(submission, db) }
        if dialect < .d3, try forced == .sequence || isTaken(position, in: event, db) {
            try submission.file.keep(at: folder.mediaPath(submission.kind, submission.fileName))
            return .collision(.sequence(position, ofEvent: event), on: .sequence)
        }
        if let known = try Asset.find(checksum: submission.checksum, db) {
            switch dialect {
            case .d1: return try link(known, to: event, at: position, submission, token: nil, db)
            case .d2: return .duplicate(existingID: known.id, checksum: known.checksum)
            case .d3, .d4: return .collision(.checksum(submission.checksum), on: .checksum)
            }
        }
        let token = Self.newToken()
        let asset = try insertAsset(submission, token: token, db)
        // D3 has no unique number in an event: it is read again.
        let position = dialect >= .d3 ? try nextPosition(in: event, db) : position
        return try link(asset, to: event, at: position, submission, token: token, db)
    }

    private func read<T>(_ work: (Database) throws -> T) throws -> T { try queue.read(work) }
    private func write<T>(_ work: (Database) throws -> T) throws -> T { try queue.write(work) }

    /// The other upload of a race for the same bytes, into another event.
    private func storeForAnother(_ submission: Submission, _ db: Database) throws {
        guard try Asset.find(checksum: submission.checksum, db) == nil else { return }
        var other = submission
        other.fields.orgName += " (other upload)"
        let event = try ensureEvent(other.fields, db)
        let asset = try insertAsset(other, token: Self.newToken(), db)
        _ = try link(asset, to: event, at: try nextPosition(in: event, db), other, token: nil, db)
    }

    func isLinked(_ asset: Asset, to event: Int, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM event_item WHERE asset_id = ? AND event_id = ?)",
            arguments: [asset.id, event]
        ) ?? false
    }

    private func isTaken(_ position: Int, in event: Int, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db,
            sql: "SELECT EXISTS (SELECT 1 FROM event_item WHERE event_id = ? AND position = ?)",
            arguments: [event, position]
        ) ?? false
    }

    func nextPosition(in event: Int, _ db: Database) throws -> Int {
        try Int.fetchOne(
            db,
            sql: "SELECT coalesce(max(position), 0) + 1 FROM event_item WHERE event_id = ?",
            arguments: [event]
        ) ?? 1
    }

    private func insertAsset(_ submission: Submission, token: String, _ db: Database) throws -> Asset {
        let asset = try Asset.insert(
            checksum: submission.checksum,
            fileExtension: submission.fileExtension,
            kind: submission.kind,
            mimeType: submission.mimeType,
            size: submission.file.size,
            duration: MovieDuration.seconds(ofFileAt: submission.file.path),
            sourceName: submission.sourceName,
            tokenHash: Digest.hex(of: token),
            db
        )
        try submission.file.keep(at: folder.mediaPath(asset.kind, asset.fileName))
        return asset
    }

    private func link(
        _ asset: Asset,
        to event: Int,
        at position: Int,
        _ submission: Submission,
        token: String?,
        _ db: Database
    ) throws -> IngestOutcome {
        let fields = submission.fields
        guard fields.label.unicodeScalars.count <= 255 else {
            return .storedThenFailed(message: UploadFields.tooLong(dialect >= .d3 ? "label" : "title"))
        }
        let item = try insertItem(asset, event: event, position: position, fields, db)
        // The older releases do not keep participants of uploads.
        guard dialect < .d3 || fields.participantNames.allSatisfy({ $0.unicodeScalars.count <= 255 }) else {
            return .storedThenFailed(message: UploadFields.tooLong("name"))
        }
        let row = try Row.fetchOne(db, sql: "SELECT event_type, keywords FROM event WHERE id = ?", arguments: [event])
        var echoed = asset
        echoed.mimeType = submission.mimeType
        return .stored(
            IngestRecord(
                asset: echoed,
                eventID: event,
                itemID: item,
                position: position,
                eventType: row?["event_type"],
                keywords: row?["keywords"] ?? "",
                fields: fields,
                deleteToken: token
            )
        )
    }

    /// Puts an asset into an event.
    /// - Returns: The row's id.
    func insertItem(
        _ asset: Asset,
        event: Int,
        position: Int,
        _ fields: UploadFields,
        _ db: Database
    ) throws -> Int {
        try db.execute(
            sql: """
                INSERT INTO event_item (event_id, asset_id, position, label, participants) VALUES (?, ?, ?, ?, ?)
                """,
            arguments: [event, asset.id, position, fields.label, fields.participants]
        )
        return Int(db.lastInsertedRowID)
    }

    /// 32 bytes in hex (gighive contract, "delete token").
    private static func newToken() -> String { hexString(markedRandomBytes(32)) }
}

extension Submission {
    /// The name it is served by.
    var fileName: String { fileExtension.isEmpty ? checksum : "\(checksum).\(fileExtension)" }
}

/// A unique key on which uploads that overlap can collide (gighive contract 3).
enum CollidingKey: String, Sendable, CaseIterable {
    /// Two uploads create the same event: nothing is stored, and the data of a tus upload is kept.
    case event
    /// D1 and D2: two files take the same number in an event. The bytes stay on disk and are served without a row.
    case sequence
    /// Another upload stores the same bytes between the look-up and the insert.
    case checksum
}

/// The error of MySQL for a row whose key exists, in the words of the recorded responses.
struct DuplicateEntry: Sendable, Equatable {
    /// MariaDB cuts longer values to this, the three dots included.
    private static let longestValue = 64

    var value: String
    var key: String

    /// Two uploads created the event.
    static func event(date: String, orgName: String, _ dialect: Dialect) -> DuplicateEntry {
        dialect >= .d3
            ? DuplicateEntry(value: "1-\(date)-\(orgName)", key: "uq_events_tenant_date_org")
            : DuplicateEntry(value: "\(date)-\(orgName)", key: "unique_session_date_org")
    }

    /// Two files took the number (D1, D2).
    static func sequence(_ number: Int, ofEvent event: Int) -> DuplicateEntry {
        DuplicateEntry(value: "\(event)-\(number)", key: "uq_files_session_seq")
    }

    /// Two uploads stored the bytes (D3).
    static func checksum(_ checksum: String) -> DuplicateEntry {
        DuplicateEntry(value: "1-\(checksum)", key: "uq_assets_tenant_checksum")
    }

    var message: String {
        let isLong = value.count > Self.longestValue
        let shown = isLong ? value.prefix(Self.longestValue - 3) + "..." : value[...]
        return "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry '\(shown)' for key '\(key)'"
    }
}
