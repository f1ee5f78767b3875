import Foundation
import GRDB

/// The database of a sandbox: assets, events, and which asset hangs on which event.
struct Catalog: Sendable {
    let queue: DatabaseQueue
    let dialect: Dialect
    let folder: DataFolder

    init(folder: DataFolder, dialect: Dialect) throws {
        self.folder = folder
        self.dialect = dialect
        var configuration = GRDB.Configuration()
        configuration.busyMode = .timeout(5)
        // A sandbox must survive its own end, not the machine's: no waiting for the disk.
        configuration.prepareDatabase { db in try db.execute(sql: "PRAGMA synchronous = OFF") }
        queue = try DatabaseQueue(path: folder.databasePath, configuration: configuration)
        try Self.migrator.migrate(queue)
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
        return migrator
    }
}

/// One stored file.
struct Asset: Sendable {
    var id: Int
    var checksum: String
    var fileExtension: String
    var kind: MediaKind
    var mimeType: String
    var size: Int
    var duration: Int?
    var sourceName: String
    var tokenHash: String?
    var createdAt: String

    /// The name it is served by.
    var fileName: String { fileExtension.isEmpty ? checksum : "\(checksum).\(fileExtension)" }

    init(_ row: Row) {
        id = row["id"]
        checksum = row["checksum"]
        fileExtension = row["file_ext"]
        kind = MediaKind(rawValue: row["file_type"]) ?? .video
        mimeType = row["mime_type"]
        size = row["size_bytes"]
        duration = row["duration_seconds"]
        sourceName = row["source_relpath"]
        tokenHash = row["delete_token_hash"]
        createdAt = row["created_at"]
    }

    static func find(_ id: Int, _ db: Database) throws -> Asset? {
        try Row.fetchOne(db, sql: "SELECT * FROM asset WHERE id = ?", arguments: [id]).map(Asset.init)
    }

    static func find(checksum: String, _ db: Database) throws -> Asset? {
        try Row.fetchOne(db, sql: "SELECT * FROM asset WHERE checksum = ?", arguments: [checksum]).map(Asset.init)
    }
}
