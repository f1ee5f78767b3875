import Foundation
import GRDB

/// A received file and the values of its rows.
struct Submission {
    var fields: UploadFields
    var file: IncomingFile
    var checksum: String
    var kind: MediaKind
    var fileExtension: String
    var mimeType: String
    var sourceName: String

    var fileName: String { Asset.fileName(checksum, fileExtension) }
}

enum IngestOutcome: Sendable {
    /// The record has a token only if the bytes were new.
    case stored(IngestRecord)
    /// Refused: the bytes are already on the server (409).
    case duplicate(existingID: Int, checksum: String)
    /// The file and its token were stored before the database refused a text that is too long (traps T7 and T26).
    case storedThenFailed(message: String)
    /// The database refused a text before anything was stored (500).
    case refused(message: String)
    case collision(DuplicateEntry)

    /// Whether the bytes of a tus upload were moved. A collision on the event happens before that.
    var usesUpBytes: Bool {
        switch self {
        case .refused: false
        case .collision(let entry): !entry.isOfEvent
        case .stored, .duplicate, .storedThenFailed: true
        }
    }
}

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
    /// The result of the lookup, before the bytes are stored.
    private enum Claim {
        case over(IngestOutcome)
        case open(event: Int, position: Int)
    }

    /// Stores a submission by the rules of the dialect (gighive contract 3). Without a race window, lookup and insert
    /// are one transaction, and collisions cannot occur; with a race window, other uploads can run in between, as on
    /// the real servers.
    func ingest(_ submission: Submission) async throws -> IngestOutcome {
        guard let raceWindow else {
            return try write { db in
                let seen = try event(of: submission.fields, db)
                return try finish(try claim(submission, seen: seen, db), submission, db)
            }
        }
        let seen = try read { try event(of: submission.fields, $0) }
        if seen == nil { try await Task.sleep(for: .seconds(raceWindow)) }
        let claimed = try write { try claim(submission, seen: seen, $0) }
        if case .open = claimed { try await Task.sleep(for: .seconds(raceWindow)) }
        return try write { try finish(claimed, submission, $0) }
    }

    // GRDB's asynchronous methods are not used, since their closures must be Sendable.
    private func read<T>(_ work: (Database) throws -> T) throws -> T { try queue.read(work) }
    private func write<T>(_ work: (Database) throws -> T) throws -> T { try queue.write(work) }

    /// Finds or creates the event, and takes the next number in it.
    private func claim(_ submission: Submission, seen: Int?, _ db: Database) throws -> Claim {
        let fields = submission.fields
        let isLate = try seen == nil && event(of: fields, db) != nil
        let event: Int
        do {
            event = try ensureEvent(fields, db)
        } catch UploadFields.Refusal.database(let message) {
            return .over(.refused(message: message))
        }
        if isLate {
            let orgName = OrganizationName.stored(fields.orgName, dialect)
            return .over(.collision(.event(date: fields.eventDate, orgName: orgName, dialect)))
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

    /// Stores the bytes and inserts the rows.
    private func finish(_ claim: Claim, _ submission: Submission, _ db: Database) throws -> IngestOutcome {
        let (event, position): (Int, Int)
        switch claim {
        case .over(let outcome): return outcome
        case .open(let number, let place): (event, position) = (number, place)
        }
        let isTaken = try db.exists("event_item WHERE event_id = ? AND position = ?", [event, position])
        if dialect < .d3, isTaken {
            try submission.file.keep(at: folder.mediaPath(submission.kind, submission.fileName))
            return .collision(.sequence(position, ofEvent: event))
        }
        if let known = try Asset.find(checksum: submission.checksum, db) {
            switch dialect {
            case .d1: return try link(known, to: event, at: position, submission, token: nil, db)
            case .d2: return .duplicate(existingID: known.id, checksum: known.checksum)
            case .d3, .d4: return .collision(.checksum(submission.checksum))
            }
        }
        let token = newSecret()
        let asset = try insertAsset(submission, token: token, db)
        // The number in an event is not unique in D3, so it is read again.
        let current = dialect >= .d3 ? try nextPosition(in: event, db) : position
        return try link(asset, to: event, at: current, submission, token: token, db)
    }

    private func insertAsset(_ submission: Submission, token: String, _ db: Database) throws -> Asset {
        let asset = try Asset.insert(
            submission.file,
            submission.checksum,
            submission.fileExtension,
            submission.kind,
            mimeType: submission.mimeType,
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
        // The older releases do not store participants.
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
}

/// MySQL's error for a duplicate key, as in the recorded responses.
struct DuplicateEntry: Sendable, Equatable {
    /// MariaDB truncates longer values to this, including the three dots.
    private static let longestValue = 64

    var value: String
    var key: String
    /// Whether the uploads collided on the event; the data of a tus upload is then kept.
    var isOfEvent = false

    /// Two uploads created the event.
    static func event(date: String, orgName: String, _ dialect: Dialect) -> DuplicateEntry {
        dialect >= .d3
            ? DuplicateEntry(value: "1-\(date)-\(orgName)", key: "uq_events_tenant_date_org", isOfEvent: true)
            : DuplicateEntry(value: "\(date)-\(orgName)", key: "unique_session_date_org", isOfEvent: true)
    }

    /// Two files got the same number (D1, D2). The bytes are served without a row.
    static func sequence(_ number: Int, ofEvent event: Int) -> DuplicateEntry {
        DuplicateEntry(value: "\(event)-\(number)", key: "uq_files_session_seq")
    }

    /// Two uploads stored the same bytes (D3).
    static func checksum(_ checksum: String) -> DuplicateEntry {
        DuplicateEntry(value: "1-\(checksum)", key: "uq_assets_tenant_checksum")
    }

    var message: String {
        let isLong = value.count > Self.longestValue
        let shown = isLong ? value.prefix(Self.longestValue - 3) + "..." : value[...]
        return "SQLSTATE[23000]: Integrity constraint violation: 1062 Duplicate entry '\(shown)' for key '\(key)'"
    }
}
