import Foundation
import GRDB

/// The database of a sandbox: assets, events, and which asset hangs on which event.
struct Catalog: Sendable {
    let queue: DatabaseQueue
    let dialect: Dialect
    let folder: DataFolder
    /// Seconds between look-up and insert, in which other uploads can come between; nil is never.
    let raceWindow: Double?

    init(folder: DataFolder, dialect: Dialect, raceWindow: Double? = nil) throws {
        self.folder = folder
        self.dialect = dialect
        self.raceWindow = raceWindow
        queue = try SandboxDatabase.open(folder.databasePath, Self.migrator)
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("gighive") { db in
            // AUTOINCREMENT: like MySQL, a number is never given twice within one database.
            try db.execute(
                sql: """
                    CREATE TABLE asset (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        checksum TEXT NOT NULL UNIQUE,
                        file_ext TEXT NOT NULL,
                        file_type TEXT NOT NULL,
                        mime_type TEXT NOT NULL,
                        size_bytes INTEGER NOT NULL,
                        duration_seconds INTEGER,
                        source_relpath TEXT NOT NULL,
                        delete_token_hash TEXT,
                        created_at TEXT NOT NULL
                    );
                    CREATE TABLE event (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        event_date TEXT NOT NULL,
                        org_name TEXT NOT NULL,
                        event_type TEXT,
                        keywords TEXT NOT NULL,
                        location TEXT NOT NULL,
                        rating TEXT NOT NULL,
                        notes TEXT NOT NULL,
                        UNIQUE (event_date, org_name)
                    );
                    CREATE TABLE event_item (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        event_id INTEGER NOT NULL REFERENCES event(id),
                        asset_id INTEGER NOT NULL REFERENCES asset(id) ON DELETE CASCADE,
                        position INTEGER NOT NULL,
                        label TEXT NOT NULL,
                        participants TEXT NOT NULL
                    );
                    CREATE INDEX event_item_asset ON event_item(asset_id);
                    CREATE INDEX event_item_event ON event_item(event_id);
                    """
            )
        }
        migrator.registerMigration("tus") { db in
            try db.execute(
                sql: """
                    CREATE TABLE tus_upload (
                        id TEXT PRIMARY KEY,
                        length INTEGER,
                        metadata TEXT NOT NULL,
                        is_partial INTEGER NOT NULL,
                        parts TEXT NOT NULL,
                        finished_at REAL,
                        is_expired INTEGER NOT NULL DEFAULT 0,
                        answer BLOB
                    )
                    """
            )
        }
        migrator.registerMigration("guests") { db in
            try db.execute(
                sql: """
                    CREATE TABLE event_link (
                        token TEXT PRIMARY KEY,
                        event_id INTEGER NOT NULL REFERENCES event(id),
                        expires_at REAL NOT NULL,
                        is_revoked INTEGER NOT NULL DEFAULT 0
                    );
                    CREATE TABLE guest_job (
                        id INTEGER PRIMARY KEY AUTOINCREMENT,
                        nonce TEXT NOT NULL UNIQUE,
                        token TEXT NOT NULL,
                        asset_id INTEGER NOT NULL,
                        label TEXT NOT NULL,
                        display_name TEXT,
                        state TEXT NOT NULL DEFAULT 'pending',
                        approved_at TEXT,
                        hidden_at INTEGER
                    );
                    """
            )
        }
        migrator.registerMigration("labels") { db in
            try db.execute(sql: "CREATE INDEX event_item_label ON event_item(label COLLATE NOCASE)")
        }
        migrator.registerMigration("blocks") { db in
            try db.execute(
                sql: """
                    CREATE TABLE block_upload (
                        id TEXT PRIMARY KEY,
                        guest_token TEXT,
                        state TEXT NOT NULL,
                        length INTEGER NOT NULL,
                        kind TEXT NOT NULL,
                        mime_type TEXT NOT NULL,
                        event_date TEXT,
                        org_name TEXT,
                        event_type TEXT NOT NULL,
                        label TEXT NOT NULL,
                        block_size INTEGER NOT NULL DEFAULT 0,
                        block_count INTEGER NOT NULL DEFAULT 0,
                        asset_id INTEGER,
                        created_at REAL NOT NULL
                    );
                    ALTER TABLE guest_job ADD COLUMN upload_id TEXT;
                    CREATE UNIQUE INDEX guest_job_upload ON guest_job(upload_id);
                    """
            )
        }
        return migrator
    }
}

extension Catalog {
    /// Stores a complete tus upload of D4 (gighive-d4 contract 4.6, 6).
    ///
    /// The file is moved first, so a refused event leaves it without a row: readable, but in no listing.
    /// - Returns: The asset's id; the existing one when the bytes are known.
    /// - Throws: ``UploadFields/Refusal`` for event fields that the database does not accept, ``SystemError``.
    func store(_ file: FinishedUpload, _ metadata: BlockMetadata) throws -> Int {
        let path = folder.mediaPath(metadata.kind, "\(file.checksum).\(metadata.fileExtension)")
        try file.keep(at: path)
        return try queue.write { db in
            let asset = try Asset.find(checksum: file.checksum, db) ?? insert(file, metadata, path, db)
            guard let fields = try metadata.eventFields() else { return asset.id }
            let event = try ensureEvent(fields, db)
            if try !isLinked(asset, to: event, db) {
                _ = try insertItem(asset, event: event, position: nextPosition(in: event, db), fields, db)
            }
            return asset.id
        }
    }

    /// The row has the duration at once; on the real server a job adds it later.
    private func insert(
        _ file: FinishedUpload,
        _ metadata: BlockMetadata,
        _ path: String,
        _ db: Database
    ) throws -> Asset {
        try Asset.insert(
            checksum: file.checksum,
            fileExtension: metadata.fileExtension,
            kind: metadata.kind,
            mimeType: metadata.mimeType,
            size: file.size,
            duration: MovieDuration.seconds(ofFileAt: path),
            sourceName: "\(metadata.kind.rawValue)/\(file.checksum).\(metadata.fileExtension)",
            tokenHash: nil,
            db
        )
    }
}

/// What became of one id in a delete request.
enum DeleteOutcome: Sendable {
    case deleted(Int)
    case failed(Int, message: String)
}

extension Catalog {
    /// Whether an asset exists and a token belongs to it.
    func tokenIsValid(_ token: String, forAsset id: Int) throws -> Bool {
        try queue.read { db in
            guard let hash = try Asset.find(id, db)?.tokenHash else { return false }
            return hash == Digest.hex(of: token)
        }
    }

    /// Removes an asset from disk and from every event; the events stay (gighive contract 5.4).
    func delete(_ id: Int) throws -> DeleteOutcome {
        try queue.write { db in
            guard let asset = try Asset.find(id, db) else { return .failed(id, message: "Not found") }
            let path = folder.mediaPath(asset.kind, asset.fileName)
            guard unlink(path) == 0 || errno == ENOENT else {
                return .failed(id, message: "Failed to delete media file on disk")
            }
            try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [id])
            try db.execute(
                sql: "UPDATE guest_job SET state = 'rejected' WHERE asset_id = ? AND state = 'approved'",
                arguments: [id]
            )
            return .deleted(id)
        }
    }
}

extension Catalog {
    /// The event of a date and an organization; nil when there is none.
    func event(of fields: UploadFields, _ db: Database) throws -> Int? {
        let key = OrganizationName.key(OrganizationName.stored(fields.orgName, dialect))
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT id, org_name FROM event WHERE event_date = ? ORDER BY id",
            arguments: [fields.eventDate]
        )
        return rows.first { OrganizationName.key($0["org_name"]) == key }?["id"]
    }

    /// The event of an upload, created when there is none. Throws ``UploadFields/Refusal`` for a text that is too long.
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
        // The column of an existing event is not written (trap T26).
        guard fields.location.unicodeScalars.count <= 255 else {
            throw UploadFields.Refusal.database(UploadFields.tooLong("location"))
        }
        try db.execute(
            sql: """
                INSERT INTO event (event_date, org_name, event_type, keywords, location, rating, notes)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                fields.eventDate, OrganizationName.stored(fields.orgName, dialect), fields.eventType, fields.keywords,
                fields.location, fields.rating, fields.notes,
            ]
        )
        return Int(db.lastInsertedRowID)
    }
}

/// A stored asset with its first place in an event.
struct AssetPlace: Sendable {
    var asset: Asset
    var eventID: Int?
    var position: Int?
}

extension Catalog {
    /// The asset of a number, as `GET /api/uploads/<id>` shows it.
    func asset(_ id: Int) throws -> AssetPlace? {
        try queue.read { db in
            guard let asset = try Asset.find(id, db) else { return nil }
            let item = try Row.fetchOne(
                db,
                sql: "SELECT event_id, position FROM event_item WHERE asset_id = ? ORDER BY id LIMIT 1",
                arguments: [id]
            )
            return AssetPlace(asset: asset, eventID: item?["event_id"], position: item?["position"])
        }
    }

    /// The asset served under a file name.
    func asset(kind: MediaKind, fileName: String) throws -> Asset? {
        let checksum = String(fileName.prefix { $0 != "." })
        let asset = try queue.read { db in try Asset.find(checksum: checksum, db) }
        guard let asset, asset.kind == kind, asset.fileName == fileName else { return nil }
        return asset
    }
}

/// Which rows a listing shows.
struct ListingQuery: Sendable {
    /// `view=librarian`: one row an asset, without event columns.
    var isLibrarian = false
    var eventID: Int?
    /// Counts from 1.
    var page = 1
    /// Column filter texts by query name, in the little language of gighive contract 7.
    var filters: [String: String] = [:]
}

/// One row of the listing.
struct ListingEntry: Sendable {
    var asset: Asset
    var date: String
    var orgName: String
    var label: String
}

/// One page of the listing.
struct ListingPage: Sendable {
    var entries: [ListingEntry]
    var total: Int
    var page: Int
    /// Rows before this page.
    var offset: Int
}

extension Catalog {
    /// From this many rows on, the listing comes in pages of as many (gighive contract 7).
    static let pageThreshold = 750

    func listing(_ query: ListingQuery) throws -> ListingPage {
        let (condition, arguments) = condition(of: query)
        // Only the newest era has the view by asset, which shows assets of no event too.
        let isLibrarian = query.isLibrarian && dialect >= .d3
        let grouping = isLibrarian || dialect < .d3 ? "GROUP BY \(isLibrarian ? "" : "event.id, ")asset.id" : ""
        let order = isLibrarian ? "asset.id DESC" : "event.event_date DESC, event.id, event_item.position"
        let source = "FROM \(tables(isLibrarian: isLibrarian)) WHERE \(condition) \(grouping)"
        return try queue.read { db in
            let total =
                try Int.fetchOne(db, sql: "SELECT count(*) FROM (SELECT 1 \(source))", arguments: arguments) ?? 0
            let pageCount = max(1, (total + Self.pageThreshold - 1) / Self.pageThreshold)
            let page = min(max(1, query.page), pageCount)
            let offset = (page - 1) * Self.pageThreshold
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT asset.*, event.event_date, event.org_name, event_item.label \(source)
                    ORDER BY \(order)
                    LIMIT \(Self.pageThreshold) OFFSET \(offset)
                    """,
                arguments: arguments
            )
            let entries = rows.map { row in entry(row, isLibrarian: isLibrarian) }
            return ListingPage(entries: entries, total: total, page: page, offset: offset)
        }
    }

    private func tables(isLibrarian: Bool) -> String {
        if isLibrarian {
            return "asset LEFT JOIN event_item ON asset_id = asset.id LEFT JOIN event ON event.id = event_id"
        }
        guard dialect < .d3 else {
            return "asset JOIN event_item ON asset_id = asset.id JOIN event ON event.id = event_id"
        }
        // The older releases keep labels in a separate table: a file is listed in every event that uses its label.
        return """
            event_item AS placed JOIN event ON event.id = placed.event_id
            JOIN event_item ON event_item.label = placed.label COLLATE NOCASE
            JOIN asset ON asset.id = event_item.asset_id
            """
    }

    private func entry(_ row: Row, isLibrarian: Bool) -> ListingEntry {
        guard !isLibrarian else { return ListingEntry(asset: Asset(row), date: "", orgName: "", label: "") }
        return ListingEntry(
            asset: Asset(row),
            date: row["event_date"],
            orgName: row["org_name"],
            label: dialect == .d2 ? OrganizationName.comparisonForm(row["label"]) : row["label"]
        )
    }

    /// The SQL of the filters; columns that the sandbox does not fill are empty texts.
    private func condition(of query: ListingQuery) -> (String, StatementArguments) {
        let columns = [
            "date": "event.event_date", "org_name": "event.org_name", "rating": "event.rating",
            "keywords": "event.keywords", "location": "event.location", "summary": "event.notes",
            "crew": "event_item.participants",
            dialect >= .d3 ? "item_label" : "song_title": "event_item.label", "file_type": "asset.file_type",
            "source_relpath": "asset.source_relpath", "duration_seconds": "coalesce(asset.duration_seconds, '')",
            "media_info": "''", "tag": "''",
        ]
        var conditions = ["1"]
        var arguments = StatementArguments()
        if let event = query.eventID {
            conditions.append("event.id = ?")
            arguments += [event]
        }
        for (name, text) in query.filters.sorted(by: { $0.key < $1.key }) {
            guard let column = columns[name] else { continue }
            let filter = ListingFilter(text)
            conditions.append(filter.condition(on: column))
            arguments += StatementArguments(filter.needles)
        }
        return (conditions.joined(separator: " AND "), arguments)
    }
}

/// A filter text: substrings joined by `|` (or) and `&` (and), each negated by a leading `!`.
struct ListingFilter: Equatable {
    private struct Term: Equatable {
        var needle: String
        var isNegated: Bool
    }

    private var alternatives: [[Term]]

    init(_ text: String) {
        alternatives = text.split(separator: "|").map { alternative in
            alternative.split(separator: "&").map { term in
                let isNegated = term.hasPrefix("!")
                return Term(needle: (isNegated ? term.dropFirst() : term).lowercased(), isNegated: isNegated)
            }
        }
    }

    /// What to bind to the condition's placeholders, in order.
    var needles: [String] { alternatives.joined().map(\.needle) }

    /// An SQL condition with one placeholder a term.
    func condition(on column: String) -> String {
        guard !alternatives.isEmpty else { return "1" }
        let any = alternatives.map { terms in
            terms.map { "instr(lower(\(column)), ?) \($0.isNegated ? "=" : ">") 0" }.joined(separator: " AND ")
        }
        return "(\(any.joined(separator: " OR ")))"
    }
}

/// How every database of a sandbox is opened.
enum SandboxDatabase {
    static func open(_ path: String, _ migrator: DatabaseMigrator) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(5)
        // A sandbox must survive its own end, not the machine's: no waiting for the disk.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = OFF") }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try migrator.migrate(queue)
        return queue
    }
}
