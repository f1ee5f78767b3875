import Foundation
import GRDB

/// The database of a sandbox: assets, events, and the assets of each event.
struct Catalog: Sendable {
    let queue: DatabaseQueue
    let dialect: Dialect
    let folder: DataFolder
    /// Seconds between lookup and insert, during which other uploads can insert rows; nil for none.
    let raceWindow: Double?

    init(folder: DataFolder, dialect: Dialect, raceWindow: Double? = nil) throws {
        self.folder = folder
        self.dialect = dialect
        self.raceWindow = raceWindow
        queue = try DatabaseQueue.sandbox(folder.path + "/sandbox.sqlite", Self.schema)
    }

    /// AUTOINCREMENT: numbers are never reused, as in MySQL.
    private static let schema = """
        CREATE TABLE asset (
            id INTEGER PRIMARY KEY AUTOINCREMENT, checksum TEXT NOT NULL UNIQUE, file_extension TEXT NOT NULL,
            kind TEXT NOT NULL, mime_type TEXT NOT NULL, size INTEGER NOT NULL, duration INTEGER,
            source_name TEXT NOT NULL, delete_token_hash TEXT, created_at TEXT NOT NULL
        );
        CREATE TABLE event (
            id INTEGER PRIMARY KEY AUTOINCREMENT, event_date TEXT NOT NULL, org_name TEXT NOT NULL, event_type TEXT,
            keywords TEXT NOT NULL, location TEXT NOT NULL, rating TEXT NOT NULL, notes TEXT NOT NULL,
            UNIQUE (event_date, org_name)
        );
        CREATE TABLE event_item (
            id INTEGER PRIMARY KEY AUTOINCREMENT, event_id INTEGER NOT NULL REFERENCES event(id),
            asset_id INTEGER NOT NULL REFERENCES asset(id) ON DELETE CASCADE, position INTEGER NOT NULL,
            label TEXT NOT NULL, participants TEXT NOT NULL
        );
        CREATE INDEX event_item_asset ON event_item(asset_id);
        CREATE INDEX event_item_event ON event_item(event_id);
        CREATE INDEX event_item_label ON event_item(label COLLATE NOCASE);
        CREATE TABLE tus_upload (
            id TEXT PRIMARY KEY, length INTEGER, metadata TEXT NOT NULL, is_partial INTEGER NOT NULL,
            parts TEXT NOT NULL, finished_at REAL, is_expired INTEGER NOT NULL DEFAULT 0, response TEXT
        );
        CREATE TABLE block_upload (
            id TEXT PRIMARY KEY, guest_token TEXT, state TEXT NOT NULL DEFAULT 'pending', length INTEGER NOT NULL,
            kind TEXT NOT NULL, mime_type TEXT NOT NULL, event_date TEXT, org_name TEXT, event_type TEXT NOT NULL,
            label TEXT NOT NULL, block_size INTEGER NOT NULL DEFAULT 0, block_count INTEGER NOT NULL DEFAULT 0,
            asset_id INTEGER, created_at REAL NOT NULL
        );
        CREATE TABLE event_link (
            token TEXT PRIMARY KEY, event_id INTEGER NOT NULL REFERENCES event(id), expires_at REAL NOT NULL,
            is_revoked INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE guest_job (
            id INTEGER PRIMARY KEY AUTOINCREMENT, nonce TEXT NOT NULL UNIQUE, token TEXT NOT NULL,
            asset_id INTEGER NOT NULL, upload_id TEXT UNIQUE, state TEXT NOT NULL DEFAULT 'pending', hidden_at INTEGER
        );
        """

    /// An asset and its first position in an event, for `GET /api/uploads/<id>`.
    func asset(_ id: Int) throws -> (asset: Asset, eventID: Int?, position: Int?)? {
        try queue.read { db in
            guard let asset = try Asset.find(id, db) else { return nil }
            let item = try Row.fetchOne(
                db,
                sql: "SELECT event_id, position FROM event_item WHERE asset_id = ? ORDER BY id LIMIT 1",
                arguments: [id]
            )
            return (asset, item?["event_id"], item?["position"])
        }
    }

    func asset(kind: MediaKind, fileName: String) throws -> Asset? {
        let asset = try queue.read { db in try Asset.find(checksum: String(fileName.prefix { $0 != "." }), db) }
        return asset.flatMap { $0.kind == kind && $0.fileName == fileName ? $0 : nil }
    }

    func tokenIsValid(_ token: String, forAsset id: Int) throws -> Bool {
        try queue.read { db in try Asset.find(id, db)?.deleteTokenHash == Digest.hex(of: token) }
    }

    /// Removes an asset from disk and from every event; the events are kept (gighive contract 5.4). Returns an error
    /// message.
    func delete(_ id: Int) throws -> String? {
        try queue.write { db in
            guard let asset = try Asset.find(id, db) else { return "Not found" }
            let path = folder.mediaPath(asset.kind, asset.fileName)
            guard unlink(path) == 0 || errno == ENOENT else { return "Failed to delete media file on disk" }
            try db.execute(sql: "DELETE FROM asset WHERE id = ?", arguments: [id])
            try db.execute(
                sql: "UPDATE guest_job SET state = 'rejected' WHERE asset_id = ? AND state = 'approved'",
                arguments: [id]
            )
            return nil
        }
    }

    func event(of fields: UploadFields, _ db: Database) throws -> Int? {
        let key = OrganizationName.key(OrganizationName.stored(fields.orgName, dialect))
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT id, org_name FROM event WHERE event_date = ? ORDER BY id",
            arguments: [fields.eventDate]
        )
        return rows.first { OrganizationName.key($0["org_name"]) == key }?["id"]
    }

    /// The event of an upload, created if missing. Throws ``UploadFields/Refusal`` for a text that is too long.
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
        // The column of an existing event is not changed (trap T26).
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

    func isLinked(_ asset: Asset, to event: Int, _ db: Database) throws -> Bool {
        try db.exists("event_item WHERE asset_id = ? AND event_id = ?", [asset.id, event])
    }

    func nextPosition(in event: Int, _ db: Database) throws -> Int {
        try Int.fetchOne(
            db,
            sql: "SELECT coalesce(max(position), 0) + 1 FROM event_item WHERE event_id = ?",
            arguments: [event]
        ) ?? 1
    }

    /// Returns the ID of the row.
    func insertItem(_ asset: Asset, event: Int, position: Int, _ fields: UploadFields, _ db: Database) throws -> Int {
        try db.execute(
            sql: "INSERT INTO event_item (event_id, asset_id, position, label, participants) VALUES (?, ?, ?, ?, ?)",
            arguments: [event, asset.id, position, fields.label, fields.participants]
        )
        return Int(db.lastInsertedRowID)
    }

    /// Stores a complete tus upload of D4 (gighive-d4 contract 4.6, 6), and returns the ID of its asset, which may be
    /// an existing one. The file is moved first: if its event is refused, it is served but not listed. The row has its
    /// duration immediately; on the real server, a job adds it later.
    func store(_ file: IncomingFile, _ checksum: String, _ upload: BlockUpload) throws -> Int {
        let fileName = Asset.fileName(checksum, upload.fileExtension)
        try file.keep(at: folder.mediaPath(upload.kind, fileName))
        return try queue.write { db in
            let asset =
                try Asset.find(checksum: checksum, db)
                ?? Asset.insert(
                    file,
                    checksum,
                    upload.fileExtension,
                    upload.kind,
                    mimeType: upload.mimeType,
                    sourceName: "\(upload.kind.rawValue)/\(fileName)",
                    tokenHash: nil,
                    db
                )
            guard let fields = try upload.eventFields() else { return asset.id }
            let event = try ensureEvent(fields, db)
            if try !isLinked(asset, to: event, db) {
                _ = try insertItem(asset, event: event, position: nextPosition(in: event, db), fields, db)
            }
            return asset.id
        }
    }
}

extension DatabaseQueue {
    static func sandbox(_ path: String, _ schema: String) throws -> DatabaseQueue {
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(5)
        // A sandbox need not survive a power loss.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = OFF") }
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.write { db in
            if try !db.exists("sqlite_schema", []) { try db.execute(sql: schema) }
        }
        return queue
    }

    @discardableResult
    func change(_ sql: String, _ arguments: StatementArguments) throws -> Bool {
        try write { db in
            try db.execute(sql: sql, arguments: arguments)
            return db.changesCount > 0
        }
    }
}

extension Database {
    /// `rows` is a table and an optional condition.
    func exists(_ rows: String, _ arguments: StatementArguments) throws -> Bool {
        try Bool.fetchOne(self, sql: "SELECT EXISTS (SELECT 1 FROM \(rows))", arguments: arguments) ?? false
    }
}

/// A record whose properties have the names of its columns.
protocol SnakeCaseRecord: Codable, FetchableRecord, PersistableRecord {}

extension SnakeCaseRecord {
    static var databaseColumnDecodingStrategy: DatabaseColumnDecodingStrategy { .convertFromSnakeCase }
    static var databaseColumnEncodingStrategy: DatabaseColumnEncodingStrategy { .convertToSnakeCase }
}
