import GRDB

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

    /// Gives legacy photos to a device, whoever owns them: the real server does not look (photosync contract 7).
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
