import Foundation
import GRDB

/// The database of PhotoSync. Times are microseconds since 1970, as in PostgreSQL.
struct PhotoCatalog: Sendable {
    let queue: DatabaseQueue
    let settings: PhotoSyncArguments
    let folder: DataFolder
    let outage = PhotoOutage()

    init(folder: DataFolder, settings: PhotoSyncArguments) throws {
        self.folder = folder
        self.settings = settings
        queue = try DatabaseQueue.sandbox(folder.path + "/photosync.sqlite", Self.schema)
        for user in settings.allUsers { try add(user) }
        if settings.build == .published { try purge() }
    }

    /// The published server sets `first_key` to "" when it rotates a key. The column is unique, so this works for one
    /// user only (photosync contract 1.2).
    private static let schema = """
        CREATE TABLE user (
            id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password_hash TEXT, key_hash TEXT NOT NULL UNIQUE,
            first_key TEXT NOT NULL UNIQUE, is_active INTEGER NOT NULL DEFAULT 1, created_at INTEGER NOT NULL
        );
        CREATE TABLE device (
            id TEXT PRIMARY KEY, user_id TEXT NOT NULL REFERENCES user(id), name TEXT NOT NULL,
            platform TEXT NOT NULL, fcm_token TEXT NOT NULL UNIQUE, registered_at INTEGER NOT NULL,
            last_seen_at INTEGER NOT NULL, last_sync_at INTEGER
        );
        CREATE TABLE photo (
            id TEXT PRIMARY KEY, user_id TEXT REFERENCES user(id),
            device_id TEXT REFERENCES device(id) ON DELETE SET NULL, hash TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
            path TEXT NOT NULL, size INTEGER NOT NULL, taken_at INTEGER NOT NULL, uploaded_at INTEGER NOT NULL,
            width INTEGER, height INTEGER
        );
        CREATE INDEX photo_upload ON photo(user_id, uploaded_at, id);
        CREATE INDEX photo_device ON photo(device_id);
        CREATE INDEX photo_path ON photo(path);
        CREATE INDEX photo_taken ON photo(taken_at);
        """

    // MARK: Photos one by one (photosync contract 3 and 8)

    func photo(_ id: String) throws -> PhotoRecord? { try queue.read { try PhotoRecord.fetchOne($0, key: id) } }

    func photo(hash: String) throws -> PhotoRecord? {
        try queue.read { try PhotoRecord.fetchOne($0, key: ["hash": hash]) }
    }

    /// Stores a file and its row in one transaction: one of several identical uploads is new, and the others get its
    /// row.
    func store(_ upload: PhotoUpload, of user: UserRecord) throws -> (photo: PhotoRecord, isDuplicate: Bool) {
        try queue.write { db in
            if let known = try PhotoRecord.fetchOne(db, key: ["hash": upload.hash]) { return (known, true) }
            let photo = PhotoRecord(
                id: newUUID(),
                userID: settings.build == .published ? nil : user.id,
                deviceID: upload.deviceID,
                hash: upload.hash,
                name: upload.originalName,
                path: try freePath(PhotoName.stored(upload.partName), in: upload.takenAt.folder, db),
                size: upload.file.size,
                takenAt: upload.takenAt,
                uploadedAt: .now(),
                pixels: upload.pixels
            )
            try photo.insert(db)
            try upload.file.keep(at: folder.makePhotoPath(photo.path))
            return (photo, false)
        }
    }

    /// The path, with `_001`, `_002` … before the extension if the name is taken.
    private func freePath(_ name: String, in folder: String, _ db: Database) throws -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        var path = "\(folder)/\(name)"
        var number = 0
        while try db.exists("photo WHERE path = ?", [path]) {
            number += 1
            path = "\(folder)/\(name[..<dot])_\(padded(number, 3))\(name[dot...])"
        }
        return path
    }

    func delete(_ id: String) throws -> Bool {
        let path = try queue.write { db in
            try String.fetchOne(db, sql: "DELETE FROM photo WHERE id = ? RETURNING path", arguments: [id])
        }
        guard let path else { return false }
        if PhotoName.isSafe(path) { unlink(folder.photoPath(path)) }
        unlink(folder.thumbnailPath(id))
        return true
    }

    /// Removes up to 100 photos without an owner, as the published server does hourly and at its start.
    @discardableResult
    func purge() throws -> Int {
        let photos = try queue.read { try PhotoRecord.filter(sql: "user_id IS NULL").limit(100).fetchAll($0) }
        for photo in photos { _ = try delete(photo.id) }
        return photos.count
    }

    /// The given hashes that belong to any user's photos.
    func known(_ hashes: [String]) throws -> Set<String> {
        try queue.read { db in
            try String.fetchSet(
                db,
                sql: "SELECT hash FROM photo WHERE hash IN (SELECT value FROM json_each(?))",
                arguments: [JSONValue.array(hashes.map(JSONValue.string)).text]
            )
        }
    }
}

/// Users, keys and devices (photosync contract 1).
extension PhotoCatalog {
    func add(_ user: PhotoSyncUser) throws {
        let key = user.apiKey ?? newSecret()
        try queue.change(
            """
            INSERT INTO user (id, email, password_hash, key_hash, first_key, created_at) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (email) DO NOTHING
            """,
            [
                newUUID(), user.email, user.password.map(Digest.hex), Digest.hex(of: key), key,
                Timestamp.now().microseconds,
            ]
        )
    }

    func user(email: String) throws -> UserRecord? {
        try queue.read { try UserRecord.fetchOne($0, key: ["email": email]) }
    }

    /// Nil for an unknown key or a disabled account.
    func user(key: String) throws -> UserRecord? {
        let user = try queue.read { try UserRecord.fetchOne($0, key: ["key_hash": Digest.hex(of: key)]) }
        return user?.isActive == true ? user : nil
    }

    /// Replaces the key of a user. Throws in the published build if the key of another user was rotated before.
    func rotateKey(of user: UserRecord) throws -> String {
        let key = newSecret()
        try queue.change(
            "UPDATE user SET key_hash = ?, first_key = ? WHERE id = ?",
            [Digest.hex(of: key), settings.build == .published ? "" : key, user.id]
        )
        return key
    }

    func change(userOf email: String, isActive: Bool?, key: String?) throws -> Bool {
        try queue.change(
            "UPDATE user SET is_active = coalesce(?, is_active), key_hash = coalesce(?, key_hash) WHERE email = ?",
            [isActive, key.map(Digest.hex), email]
        )
    }

    // MARK: Devices

    /// Marks the device of a token as seen, and returns it as it was before, regardless of its owner.
    func meetDevice(token: String) throws -> DeviceRecord? {
        let device = try queue.read { try DeviceRecord.fetchOne($0, key: ["fcm_token": token]) }
        try queue.change(
            "UPDATE device SET last_seen_at = ? WHERE fcm_token = ?",
            [Timestamp.now().microseconds, token]
        )
        return device
    }

    func addDevice(user: String, name: String, platform: String, token: String) throws -> DeviceRecord {
        let now = Timestamp.now()
        let device = DeviceRecord(
            id: newUUID(),
            userId: user,
            name: name,
            platform: platform,
            fcmToken: token,
            registeredAt: now,
            lastSeenAt: now
        )
        try queue.write { db in try device.insert(db) }
        return device
    }

    func device(_ id: String) throws -> DeviceRecord? { try queue.read { try DeviceRecord.fetchOne($0, key: id) } }

    /// Deletes a device, whose photos become legacy. False if the user has no such device.
    func deleteDevice(_ id: String, of user: String) throws -> Bool {
        try queue.change("DELETE FROM device WHERE id = ? AND user_id = ?", [id, user])
    }
}

/// Listing and claiming (photosync contract 5 and 7).
extension PhotoCatalog {
    struct Page: Sendable {
        var photos: [PhotoRecord] = []
        /// By ID.
        var devices: [String: DeviceRecord] = [:]
        var hasMore = false
        var totalCount: Int
    }

    /// The photos after the one at the cursor, in upload order; none if that photo was deleted.
    func page(of user: String, after cursor: String?, since: Timestamp?, limit: Int) throws -> Page {
        try queue.read { db in
            let own = PhotoRecord.filter(sql: "user_id = ?", arguments: [user])
            var page = Page(totalCount: try own.fetchCount(db))
            if settings.isStub {
                // The build without PostgreSQL has only this page.
                page.photos = try own.order(sql: "taken_at DESC").limit(limit).fetchAll(db)
                return page
            }
            var rest = own.order(sql: "uploaded_at, id").limit(limit + 1)
            if let cursor {
                let position = "(uploaded_at, id) > (SELECT uploaded_at, id FROM photo WHERE id = ?)"
                rest = rest.filter(sql: position, arguments: [cursor])
            }
            if let since { rest = rest.filter(sql: "uploaded_at >= ?", arguments: [since.microseconds]) }
            let photos = try rest.fetchAll(db)
            page.hasMore = photos.count > limit
            page.photos = Array(photos.prefix(limit))
            for id in Set(page.photos.compactMap(\.deviceID)) {
                page.devices[id] = try DeviceRecord.fetchOne(db, key: id)
            }
            return page
        }
    }

    /// Records that a device received a page with photos.
    func noteSync(of device: String) throws {
        try queue.change("UPDATE device SET last_sync_at = ? WHERE id = ?", [Timestamp.now().microseconds, device])
    }

    func claimAll(of user: String, for device: String) throws -> Int { try claim("user_id = ?", [device, user]) }

    /// Assigns legacy photos to a device, regardless of their owner, as the real server does (photosync contract 7).
    func claim(_ ids: [String], for device: String) throws -> Int {
        try claim("id IN (SELECT value FROM json_each(?))", [device, JSONValue.array(ids.map(JSONValue.string)).text])
    }

    private func claim(_ condition: String, _ arguments: StatementArguments) throws -> Int {
        try queue.write { db in
            try db.execute(
                sql: "UPDATE photo SET device_id = ? WHERE device_id IS NULL AND \(condition)",
                arguments: arguments
            )
            return db.changesCount
        }
    }
}
