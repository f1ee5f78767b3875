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
