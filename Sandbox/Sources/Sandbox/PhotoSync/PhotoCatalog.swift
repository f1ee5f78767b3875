import Foundation
import GRDB

/// The database of PhotoSync: users, devices, photos, and when each device last listed.
///
/// Times are microseconds since 1970, as precise as the real server's PostgreSQL.
struct PhotoCatalog: Sendable {
    let queue: DatabaseQueue
    let settings: PhotoSyncSettings
    let folder: DataFolder
    let outage = PhotoOutage()

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

/// Photos one by one (photosync contract 3 and 8).
extension PhotoCatalog {
    func photo(_ id: String) throws -> PhotoRecord? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM photo WHERE id = ?", arguments: [id]).map(PhotoRecord.init)
        }
    }

    /// Of all users.
    func photo(hash: String) throws -> PhotoRecord? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM photo WHERE hash = ?", arguments: [hash]).map(PhotoRecord.init)
        }
    }

    /// Stores a file and its row in one transaction, so of identical uploads at one moment exactly one is new.
    ///
    /// - Returns: The row, or the one that has the same bytes already.
    func store(_ upload: PhotoUpload, of user: UserRecord) throws -> (photo: PhotoRecord, isDuplicate: Bool) {
        try queue.write { db in
            let known = try Row.fetchOne(db, sql: "SELECT * FROM photo WHERE hash = ?", arguments: [upload.hash])
            if let known { return (PhotoRecord(known), true) }
            let path = try freePath(PhotoName.stored(upload.partName), in: upload.takenAt.folder, db)
            let photo = PhotoRecord(
                id: Self.newID(),
                userID: settings.build == .published ? nil : user.id,
                deviceID: upload.deviceID,
                hash: upload.hash,
                name: upload.originalName,
                path: path,
                size: upload.file.size,
                takenAt: upload.takenAt,
                uploadedAt: .now(),
                pixels: upload.pixels
            )
            try photo.insert(db)
            try keep(upload.file, at: path)
            return (photo, false)
        }
    }

    private func keep(_ file: IncomingFile, at path: String) throws {
        try file.keep(at: folder.makePhotoPath(path))
    }

    /// `_001`, `_002` … before the extension where the name is taken.
    private func freePath(_ name: String, in folder: String, _ db: Database) throws -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        var number = 0
        while true {
            let suffix = number == 0 ? "" : "_" + padded(number, 3)
            let path = "\(folder)/\(name[..<dot])\(suffix)\(name[dot...])"
            let isTaken = try Bool.fetchOne(
                db,
                sql: "SELECT EXISTS (SELECT 1 FROM photo WHERE path = ?)",
                arguments: [path]
            )
            if isTaken != true { return path }
            number += 1
        }
    }

    /// Removes row and file; false when there is no such photo.
    func delete(_ id: String) throws -> Bool {
        let path = try queue.write { db in
            try String.fetchOne(db, sql: "DELETE FROM photo WHERE id = ? RETURNING path", arguments: [id])
        }
        guard let path else { return false }
        if PhotoName.isSafe(path) { unlink(folder.photoPath(path)) }
        unlink(folder.thumbnailPath(id))
        return true
    }

    /// What the published server does hourly and at its start: up to 100 photos without an owner go.
    @discardableResult
    func purge() throws -> Int {
        let ids = try queue.read { db in
            try String.fetchAll(db, sql: "SELECT id FROM photo WHERE user_id IS NULL LIMIT 100")
        }
        for id in ids { _ = try delete(id) }
        return ids.count
    }

    /// Which of these hashes some photo of some user has.
    func known(_ hashes: [String]) throws -> Set<String> {
        let list = GoJSONEncoder.encode(.array(hashes.map(JSONValue.string)))
        return try queue.read { db in
            try String.fetchSet(
                db,
                sql: "SELECT hash FROM photo WHERE hash IN (SELECT value FROM json_each(?))",
                arguments: [list]
            )
        }
    }

    /// Of all users, the latest capture first.
    func browse(skip: Int, take: Int) throws -> (photos: [PhotoRecord], total: Int) {
        try queue.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT * FROM photo ORDER BY taken_at DESC LIMIT ? OFFSET ?",
                arguments: [take, skip]
            )
            return (rows.map(PhotoRecord.init), try Int.fetchOne(db, sql: "SELECT count(*) FROM photo") ?? 0)
        }
    }
}

/// Users, keys and devices (photosync contract 1).
extension PhotoCatalog {
    // MARK: Users

    /// Makes a user; one that is there stays as it is.
    func add(_ user: PhotoSyncUser) throws {
        try queue.write { db in
            let key = user.apiKey ?? Self.newKey()
            try db.execute(
                sql: """
                    INSERT INTO user (id, email, password_hash, key_hash, first_key, created_at)
                    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (email) DO NOTHING
                    """,
                arguments: [
                    Self.newID(), user.email, user.password.map(Digest.hex), Digest.hex(of: key), key,
                    GoTime.now().microseconds,
                ]
            )
        }
    }

    func user(email: String) throws -> UserRecord? {
        try queue.read { db in
            try Row.fetchOne(db, sql: "SELECT * FROM user WHERE email = ?", arguments: [email]).map(UserRecord.init)
        }
    }

    /// Nil also for a disabled account.
    func user(key: String) throws -> UserRecord? {
        try queue.read { db in
            try Row.fetchOne(
                db,
                sql: "SELECT * FROM user WHERE key_hash = ? AND is_active",
                arguments: [Digest.hex(of: key)]
            )
            .map(UserRecord.init)
        }
    }

    /// Gives a user a new key; the old one is no longer valid.
    ///
    /// Throws in the published build when another user's key was rotated before.
    func rotateKey(of user: UserRecord) throws -> String {
        let key = Self.newKey()
        try queue.write { db in
            try db.execute(
                sql: "UPDATE user SET key_hash = ?, first_key = ? WHERE id = ?",
                arguments: [Digest.hex(of: key), settings.build == .published ? "" : key, user.id]
            )
        }
        return key
    }

    /// False when there is no such user.
    func change(userOf email: String, isActive: Bool?, key: String?) throws -> Bool {
        try queue.write { db in
            try db.execute(
                sql: """
                    UPDATE user SET is_active = coalesce(?, is_active), key_hash = coalesce(?, key_hash)
                    WHERE email = ?
                    """,
                arguments: [isActive, key.map(Digest.hex), email]
            )
            return db.changesCount > 0
        }
    }

    /// 32 random bytes in hex.
    private static func newKey() -> String { hexString(markedRandomBytes(32)) }

    // MARK: Devices

    /// Marks the device of a token as seen and returns it as it was before, regardless of its owner.
    func meetDevice(token: String) throws -> DeviceRecord? {
        try queue.write { db in
            let row = try Row.fetchOne(db, sql: "SELECT * FROM device WHERE fcm_token = ?", arguments: [token])
            try db.execute(
                sql: "UPDATE device SET last_seen_at = ? WHERE fcm_token = ?",
                arguments: [GoTime.now().microseconds, token]
            )
            return row.map(DeviceRecord.init)
        }
    }

    func addDevice(user: String, name: String, platform: String, token: String) throws -> DeviceRecord {
        let now = GoTime.now()
        let device = DeviceRecord(
            id: Self.newID(),
            userID: user,
            name: name,
            platform: platform,
            registeredAt: now,
            lastSeenAt: now
        )
        try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO device (id, user_id, name, platform, fcm_token, registered_at, last_seen_at)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """,
                arguments: [device.id, user, name, platform, token, now.microseconds, now.microseconds]
            )
        }
        return device
    }

    /// Last seen first.
    func devices(of user: String) throws -> [DeviceRecord] {
        try queue.read { db in
            try Row.fetchAll(
                db,
                sql: "SELECT * FROM device WHERE user_id = ? ORDER BY last_seen_at DESC",
                arguments: [user]
            )
            .map(DeviceRecord.init)
        }
    }

    func device(_ id: String) throws -> DeviceRecord? {
        try queue.read { db in try Self.device(id, db) }
    }

    static func device(_ id: String, _ db: Database) throws -> DeviceRecord? {
        try Row.fetchOne(db, sql: "SELECT * FROM device WHERE id = ?", arguments: [id]).map(DeviceRecord.init)
    }

    /// Its photos become legacy and its sync state is dropped; false when the user has no such device.
    func deleteDevice(_ id: String, of user: String) throws -> Bool {
        try queue.write { db in
            try db.execute(sql: "DELETE FROM device WHERE id = ? AND user_id = ?", arguments: [id, user])
            return db.changesCount > 0
        }
    }
}

/// How many photos a user has, and from where.
struct PhotoCounts: Sendable {
    var total = 0
    /// From the device that was asked about.
    var device = 0
    var legacy = 0
}

/// One page of a listing.
struct PhotoPage: Sendable {
    var photos: [PhotoRecord] = []
    /// The devices that the photos came from, by id.
    var devices: [String: DeviceRecord] = [:]
    var hasMore = false
    /// All photos of the user.
    var totalCount = 0
}

/// Counting, listing and claiming (photosync contract 4, 5 and 7).
extension PhotoCatalog {
    func counts(of user: String, device: String?) throws -> PhotoCounts {
        try queue.read { db in
            var counts = PhotoCounts(total: try Self.total(of: user, db))
            guard !settings.isStub else { return counts }
            counts.device =
                try Int.fetchOne(
                    db,
                    sql: "SELECT count(*) FROM photo WHERE user_id = ? AND device_id = ?",
                    arguments: [user, device]
                ) ?? 0
            counts.legacy =
                try Int.fetchOne(
                    db,
                    sql: "SELECT count(*) FROM photo WHERE user_id = ? AND device_id IS NULL",
                    arguments: [user]
                ) ?? 0
            return counts
        }
    }

    /// When a device last got a page with a photo in it.
    func lastSync(of device: String) throws -> GoTime? {
        try queue.read { db in
            try Int.fetchOne(
                db,
                sql: "SELECT last_sync_at FROM device_sync_state WHERE device_id = ?",
                arguments: [device]
            )
            .map(GoTime.init)
        }
    }

    /// The photos after the one that the cursor names, in the order of their upload.
    ///
    /// The position is looked up through that photo: without it nothing comes after it.
    func page(of user: String, after cursor: String?, since: GoTime?, limit: Int) throws -> PhotoPage {
        try queue.read { db in
            var page = PhotoPage(totalCount: try Self.total(of: user, db))
            var sql = "SELECT * FROM photo WHERE user_id = ?"
            var arguments: StatementArguments = [user]
            if let cursor {
                sql += " AND (uploaded_at, id) > (SELECT uploaded_at, id FROM photo WHERE id = ?)"
                arguments += [cursor]
            }
            if let since {
                sql += " AND uploaded_at >= ?"
                arguments += [since.microseconds]
            }
            sql += " ORDER BY uploaded_at, id LIMIT ?"
            arguments += [limit + 1]
            page.photos = try Row.fetchAll(db, sql: sql, arguments: arguments).map(PhotoRecord.init)
            page.hasMore = page.photos.count > limit
            page.photos = Array(page.photos.prefix(limit))
            for id in Set(page.photos.compactMap(\.deviceID)) { page.devices[id] = try Self.device(id, db) }
            return page
        }
    }

    /// The only page of the build without PostgreSQL.
    func stubPage(of user: String, limit: Int) throws -> PhotoPage {
        try queue.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: "SELECT * FROM photo WHERE user_id = ? ORDER BY taken_at DESC LIMIT ?",
                arguments: [user, limit]
            )
            return PhotoPage(photos: rows.map(PhotoRecord.init), totalCount: try Self.total(of: user, db))
        }
    }

    /// An unknown device is nothing to write down.
    func noteSync(of device: String, lastPhoto: String) throws {
        try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO device_sync_state (device_id, last_sync_at, last_photo_id)
                    SELECT id, ?, ? FROM device WHERE id = ?
                    ON CONFLICT (device_id) DO UPDATE
                    SET last_sync_at = excluded.last_sync_at, last_photo_id = excluded.last_photo_id
                    """,
                arguments: [GoTime.now().microseconds, lastPhoto, device]
            )
        }
    }

    func legacyPhotos(of user: String, limit: Int) throws -> (photos: [PhotoRecord], total: Int) {
        try queue.read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT * FROM photo WHERE user_id = ? AND device_id IS NULL ORDER BY taken_at DESC LIMIT ?
                    """,
                arguments: [user, limit]
            )
            let total = try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM photo WHERE user_id = ? AND device_id IS NULL",
                arguments: [user]
            )
            return (rows.map(PhotoRecord.init), total ?? 0)
        }
    }

    /// Gives all of a user's legacy photos to a device.
    func claimAll(of user: String, for device: String) throws -> Int {
        try queue.write { db in
            try db.execute(
                sql: "UPDATE photo SET device_id = ? WHERE user_id = ? AND device_id IS NULL",
                arguments: [device, user]
            )
            return db.changesCount
        }
    }

    /// Gives legacy photos to a device, regardless of their owner: the real server does not check (photosync contract 7).
    func claim(_ ids: [String], for device: String) throws -> Int {
        let list = GoJSONEncoder.encode(.array(ids.map(JSONValue.string)))
        return try queue.write { db in
            try db.execute(
                sql: """
                    UPDATE photo SET device_id = ?
                    WHERE id IN (SELECT value FROM json_each(?)) AND device_id IS NULL
                    """,
                arguments: [device, list]
            )
            return db.changesCount
        }
    }

    private static func total(of user: String, _ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM photo WHERE user_id = ?", arguments: [user]) ?? 0
    }
}
