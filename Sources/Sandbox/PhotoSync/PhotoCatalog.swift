import Foundation
import GRDB

/// The database of PhotoSync: users, devices, photos, and when each device last listed.
///
/// Times are microseconds since 1970, as precise as the real server's PostgreSQL.
struct PhotoCatalog: Sendable {
    let queue: DatabaseQueue
    let settings: PhotoSyncSettings
    let folder: DataFolder

    init(folder: DataFolder, settings: PhotoSyncSettings) throws {
        self.folder = folder
        self.settings = settings
        queue = try SandboxDatabase.open(folder.photoDatabasePath, Self.migrator)
        for user in settings.users { try add(user) }
        if settings.build == .published { try purge() }
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("photosync") { db in
            // `first_key` stands for the column that the published server blanks when it rotates a key: being unique,
            // it lets only one user be blank (photosync contract 1.2).
            try db.execute(
                sql: """
                    CREATE TABLE user (
                        id TEXT PRIMARY KEY,
                        email TEXT NOT NULL UNIQUE,
                        password_hash TEXT,
                        key_hash TEXT NOT NULL UNIQUE,
                        first_key TEXT NOT NULL UNIQUE,
                        is_active INTEGER NOT NULL DEFAULT 1,
                        created_at INTEGER NOT NULL
                    );
                    CREATE TABLE device (
                        id TEXT PRIMARY KEY,
                        user_id TEXT NOT NULL REFERENCES user(id),
                        name TEXT NOT NULL,
                        platform TEXT NOT NULL,
                        fcm_token TEXT NOT NULL UNIQUE,
                        registered_at INTEGER NOT NULL,
                        last_seen_at INTEGER NOT NULL
                    );
                    CREATE TABLE photo (
                        id TEXT PRIMARY KEY,
                        user_id TEXT REFERENCES user(id),
                        device_id TEXT REFERENCES device(id) ON DELETE SET NULL,
                        hash TEXT NOT NULL UNIQUE,
                        name TEXT NOT NULL,
                        path TEXT NOT NULL,
                        size INTEGER NOT NULL,
                        taken_at INTEGER NOT NULL,
                        uploaded_at INTEGER NOT NULL,
                        width INTEGER,
                        height INTEGER
                    );
                    CREATE INDEX photo_upload ON photo(user_id, uploaded_at, id);
                    CREATE INDEX photo_device ON photo(device_id);
                    CREATE INDEX photo_path ON photo(path);
                    CREATE INDEX photo_taken ON photo(taken_at);
                    CREATE TABLE device_sync_state (
                        device_id TEXT PRIMARY KEY REFERENCES device(id) ON DELETE CASCADE,
                        last_sync_at INTEGER NOT NULL,
                        last_photo_id TEXT NOT NULL
                    );
                    """
            )
        }
        return migrator
    }

    /// A lower-case UUID, as all ids are.
    static func newID() -> String { newUUID() }
}
