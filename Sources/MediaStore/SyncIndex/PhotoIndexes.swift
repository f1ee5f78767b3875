import GRDB

/// The indexes over ids and digests. Both have random keys: filled photo by photo they cost ten times what the photo itself
/// does, so a run that brings more photos than are known drops them, and they are built in one go: ids at its last page,
/// digests when somebody asks for one.
struct PhotoIndexes {
    private let db: Database

    /// Below this many new photos the indexes are kept: a page or two are no bulk.
    static let bulk: Int64 = 10_000

    init(_ db: Database) {
        self.db = db
    }

    /// To be called before each page.
    ///
    /// - Returns: Whether the index over ids is there, and photos can be found by id.
    func prepareIDs(for run: RunRow) throws -> Bool {
        guard run.pagesSeen == 0 else { return try exists(Self.ids) }
        let expected = try run.totalCount - OriginTable.presentCount(ofServer: run.server, db)
        let known = try Int64.fetchOne(db, sql: "SELECT sum(present + gone) FROM origins") ?? 0
        if run.since == nil, expected > max(Self.bulk, known) {
            for name in [Self.ids, Self.digests] { try db.execute(sql: "DROP INDEX IF EXISTS \(name)") }
            return false
        }
        _ = try finishIDs()
        return true
    }

    /// Builds the index over ids when it is missing, and removes what was stored twice without it: the earlier row of a
    /// photo whose `uploadedAt` has changed.
    ///
    /// - Returns: Whether there was something to do; the counts of runs may have changed then.
    func finishIDs() throws -> Bool {
        guard try !exists(Self.ids) else { return false }
        // A million ids are sorted while the next ones are read. Each thread fills as much memory as the cache may have.
        let cacheSize = try Int.fetchOne(db, sql: "PRAGMA cache_size") ?? 0
        try db.execute(sql: "PRAGMA threads = 1; PRAGMA cache_size = \(cacheSize / 4)")
        defer { try? db.execute(sql: "PRAGMA threads = 0; PRAGMA cache_size = \(cacheSize)") }
        do {
            // Tells on the way whether an id is there twice, which is rare.
            try db.execute(sql: "CREATE UNIQUE INDEX \(Self.ids) ON photos (server, id)")
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CONSTRAINT {
            try db.execute(sql: "CREATE INDEX \(Self.ids) ON photos (server, id)")
            try removeDoubles()
        }
        return true
    }

    private func removeDoubles() throws {
        let pairs = try Row.fetchCursor(
            db,
            sql: """
                SELECT server, id, max(number) FROM photos INDEXED BY \(Self.ids)
                GROUP BY server, id HAVING count(*) > 1
                """
        )
        var doubles: [(server: Int64, id: DatabaseValue, newest: Int64)] = []
        while let row = try pairs.next() { doubles.append((row[0], row[1], row[2])) }
        for double in doubles { try removeEarlier(double.server, double.id, than: double.newest) }
    }

    private func removeEarlier(_ server: Int64, _ id: DatabaseValue, than newest: Int64) throws {
        var seen = try SeenPhotos(db, server: server)
        var origins = try OriginTable(db, server: server)
        let earlier = try Row.fetchAll(
            db,
            sql: "SELECT number, origin, is_gone FROM photos WHERE server = ? AND id = ? AND number <> ?",
            arguments: [server, id, newest]
        )
        for row in earlier {
            let isGone: Bool = row[2]
            origins.add(present: isGone ? 0 : -1, gone: isGone ? -1 : 0, to: row[1])
            try db.execute(sql: "DELETE FROM photos WHERE number = ?", arguments: [row[0] as Int64])
            // Counted as added both times, or known from before and told differently.
            let isCountedTwice = try seen.contains(row[0])
            try db.execute(
                sql: """
                    UPDATE runs SET added = added - 1, photos_seen = photos_seen - ?1, changed = changed + 1 - ?1
                    WHERE server = ?2
                    """,
                arguments: [isCountedTwice ? 1 : 0, server]
            )
        }
        try origins.save()
    }

    func hasIDs() throws -> Bool { try exists(Self.ids) }

    func hasDigests() throws -> Bool { try exists(Self.digests) }

    func createDigests() throws {
        try db.execute(sql: "CREATE INDEX IF NOT EXISTS \(Self.digests) ON photos (server, digest)")
    }

    static let ids = "photos_by_id"
    static let digests = "photos_by_digest"

    private func exists(_ name: String) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?)"
        )
        return try Bool.fetchOne(statement, arguments: [name]) ?? false
    }
}
