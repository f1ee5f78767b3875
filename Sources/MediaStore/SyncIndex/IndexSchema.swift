import GRDB
import Glibc

extension StoreSchema {
    /// `index.sqlite`. Photos are stored in the order of their arrival, which is the order of a listing
    /// (photosync contract section 5), so storing a page of a listing touches few pages of the file, whether its
    /// photos are new or known.
    ///
    /// - `photos.id` and `photos.digest` are 16 and 32 bytes if they have the standard form; otherwise they are the
    ///   text.
    /// - A time is stored as text only if its microseconds do not reproduce the text.
    /// - `origins` has a row for each device, and one row without a device for legacy photos, each with the number of
    ///   its photos.
    /// - `runs` has a row for each unfinished run. Numbers are never reused.
    /// - `seen` has a bit for each `photos.number` that the run has seen, so a run over known photos
    ///   changes none of them.
    ///
    /// The indexes on IDs and digests cost random access, and do not always exist: see `PhotoIndexes`.
    static let index = StoreSchema(
        fileName: "index.sqlite",
        applicationID: 0x4D44_4349,  // "MDCI"
        migrations: [
            // 1: photos on servers
            """
            CREATE TABLE servers (
                number INTEGER PRIMARY KEY,
                address TEXT NOT NULL UNIQUE,
                account TEXT NOT NULL,
                complete_at INTEGER,
                full_at INTEGER,
                watermark_us INTEGER,
                watermark_text TEXT,
                total_count INTEGER NOT NULL DEFAULT 0,
                owns_uploads INTEGER
            ) STRICT;
            CREATE TABLE runs (
                number INTEGER PRIMARY KEY AUTOINCREMENT,
                server INTEGER NOT NULL UNIQUE,
                begun_at INTEGER NOT NULL,
                since_us INTEGER,
                since_text TEXT,
                cursor TEXT,
                is_at_end INTEGER NOT NULL DEFAULT 0,
                photos_seen INTEGER NOT NULL DEFAULT 0,
                pages_seen INTEGER NOT NULL DEFAULT 0,
                total_count INTEGER NOT NULL DEFAULT 0,
                added INTEGER NOT NULL DEFAULT 0,
                changed INTEGER NOT NULL DEFAULT 0,
                latest_us INTEGER,
                latest_text TEXT
            ) STRICT;
            CREATE TABLE origins (
                number INTEGER PRIMARY KEY,
                server INTEGER NOT NULL,
                device_id TEXT,
                name TEXT,
                platform TEXT,
                present INTEGER NOT NULL DEFAULT 0,
                gone INTEGER NOT NULL DEFAULT 0
            ) STRICT;
            CREATE UNIQUE INDEX origins_by_device ON origins (server, device_id);
            CREATE TABLE photos (
                number INTEGER PRIMARY KEY,
                server INTEGER NOT NULL,
                id ANY NOT NULL,
                digest ANY NOT NULL,
                name TEXT NOT NULL,
                size INTEGER NOT NULL,
                taken_us INTEGER NOT NULL,
                taken_text TEXT,
                uploaded_us INTEGER NOT NULL,
                uploaded_text TEXT,
                origin INTEGER NOT NULL,
                width INTEGER,
                height INTEGER,
                is_gone INTEGER NOT NULL DEFAULT 0
            ) STRICT;
            CREATE UNIQUE INDEX photos_by_upload ON photos (server, uploaded_us, id);
            CREATE TABLE seen (
                server INTEGER NOT NULL,
                chunk INTEGER NOT NULL,
                bits BLOB NOT NULL,
                PRIMARY KEY (server, chunk)
            ) STRICT, WITHOUT ROWID;
            """
        ],
        durability: .normal,
        holdsSecrets: false,
        checkedTables: [],
        notesDamage: true,
        // Limits the memory; a log of 32 MiB before a checkpoint avoids most of the copying in a run
        // over a million photos.
        settings: ["cache_size = -8192", "wal_autocheckpoint = 8192", "journal_size_limit = 4194304"]
    )
}

/// The indexes on IDs and digests. Both have random keys: updated photo by photo, they cost ten times as much as the
/// photo itself. A run that adds more photos than are known therefore drops them, and each is built in one step: IDs at
/// the last page, digests when one is requested.
struct PhotoIndexes {
    private let db: Database

    /// Below this many new photos, the indexes are kept: dropping them for a page or two is slower.
    static let bulk: Int64 = 10_000

    init(_ db: Database) {
        self.db = db
    }

    /// To be called before each page. Returns whether the index on IDs exists, so photos can be found by ID.
    func prepareIDs(for run: RunRow) throws -> Bool {
        guard run.pagesSeen == 0 else { return try has(Self.ids) }
        let expected = try run.totalCount - OriginTable.presentCount(ofServer: run.server, db)
        let known = try Int64.fetchOne(db, sql: "SELECT sum(present + gone) FROM origins") ?? 0
        if run.since == nil, expected > max(Self.bulk, known) {
            for name in [Self.ids, Self.digests] { try db.execute(sql: "DROP INDEX IF EXISTS \(name)") }
            return false
        }
        _ = try finishIDs()
        return true
    }

    /// Builds the index on IDs if it is missing, and removes duplicates that were stored without it: the earlier
    /// row of a photo whose `uploadedAt` has changed.
    ///
    /// - Returns: Whether the index was missing; the counts of runs may have changed in that case.
    func finishIDs() throws -> Bool {
        guard try !has(Self.ids) else { return false }
        // A million IDs are sorted while the next ones are read. Each thread uses as much memory as the cache may.
        let cacheSize = try Int.fetchOne(db, sql: "PRAGMA cache_size") ?? 0
        try db.execute(sql: "PRAGMA threads = 1; PRAGMA cache_size = \(cacheSize / 4)")
        defer { try? db.execute(sql: "PRAGMA threads = 0; PRAGMA cache_size = \(cacheSize)") }
        do {
            // Also shows whether an ID occurs twice, which is rare.
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
                SELECT server, id, max(number) AS newest FROM photos INDEXED BY \(Self.ids)
                GROUP BY server, id HAVING count(*) > 1
                """
        )
        var doubles: [(server: Int64, id: DatabaseValue, newest: Int64)] = []
        while let row = try pairs.next() { doubles.append((row["server"], row["id"], row["newest"])) }
        for double in doubles { try removeEarlier(double.server, double.id, than: double.newest) }
    }

    private func removeEarlier(_ server: Int64, _ id: DatabaseValue, than newest: Int64) throws {
        var seen = try SeenPhotos(db, server: server)
        var origins = OriginTable(db, server: server)
        let earlier = try Row.fetchAll(
            db,
            sql: "SELECT number, origin, is_gone FROM photos WHERE server = ? AND id = ? AND number <> ?",
            arguments: [server, id, newest]
        )
        for row in earlier {
            let (number, isGone): (Int64, Bool) = (row["number"], row["is_gone"])
            origins.add(present: isGone ? 0 : -1, gone: isGone ? -1 : 0, to: row["origin"])
            try db.execute(sql: "DELETE FROM photos WHERE number = ?", arguments: [number])
            // The photo was counted as added twice; or it was already known, and is changed rather than added.
            let isCountedTwice = try seen.contains(number)
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

    func createDigests() throws {
        try db.execute(sql: "CREATE INDEX IF NOT EXISTS \(Self.digests) ON photos (server, digest)")
    }

    static let ids = "photos_by_id"
    static let digests = "photos_by_digest"

    func has(_ name: String) throws -> Bool {
        let statement = try db.cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index' AND name = ?)"
        )
        return try Bool.fetchOne(statement, arguments: [name]) ?? false
    }
}

/// Opens the index, and replaces a corrupt one. Checking the whole index would take seconds at every start, so damage
/// may be found only in use; it is noted next to the file for the next start.
struct IndexRepair {
    let directory: DataDirectory
    let fileSystem: FileSystemKind
    let busyLimit: Duration

    private var path: String { directory.file(StoreSchema.index.fileName) }

    func open() throws(StoreError) -> (connection: StoreConnection, warnings: [String]) {
        do {
            return (try openWhole(), [])
        } catch {
            guard error.kind == .corrupt else { throw error }
            if let replaced = try setAside() { return (replaced, []) }
            let warning = "\"\(path)\" was not usable (\(error.detail)) and is being rebuilt"
            return (try connect(), [warning])
        }
    }

    /// Makes the next start check the whole content.
    static func noteDamage(_ path: String) {
        let descriptor = Glibc.open(suspicion(path), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
    }

    private static func suspicion(_ path: String) -> String { path + ".suspect" }

    private func connect() throws(StoreError) -> StoreConnection {
        try StoreConnection(.index, in: directory, fileSystem: fileSystem, busyLimit: busyLimit)
    }

    private func openWhole() throws(StoreError) -> StoreConnection {
        let connection = try connect()
        if try FileStatus(at: Self.suspicion(path)) != nil {
            try connection.read { try StoreSchema.checkContent($0, path: path) }
            unlink(Self.suspicion(path))
        }
        return connection
    }

    /// Renames the corrupt index, replacing one that was renamed earlier.
    ///
    /// - Returns: The index that another process has put in its place in the meantime.
    private func setAside() throws(StoreError) -> StoreConnection? {
        let lock = try StoreConnection.lock(.index, in: directory, limit: busyLimit)
        defer { lock.remove() }
        // Without a file, opening would wait for the lock that is held here.
        let isThere = try FileStatus(at: path) != nil
        if isThere, let whole = try? openWhole() { return whole }
        if isThere {
            try StoreError.check(path, "cannot move aside", rename(path, path + ".corrupt"))
        }
        for companion in StoreConnection.companions { unlink(path + companion) }
        unlink(Self.suspicion(path))
        return nil
    }
}
