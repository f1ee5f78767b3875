import GRDB

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

    /// Gives a user a new key; the old one is worth nothing from now on.
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

    /// Marks the device of a token as seen and returns it as it was before, whoever owns it.
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
