import GRDB
import Glibc
import MediaSystem

/// `hashes.sqlite`. A row, once written, is true for ever: it says what a file with these times held.
final class HashDatabase: Sendable {
    /// One row for each file; what it held before is of no use.
    struct Key: Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ identity: FileIdentity) {
            device = identity.device
            inode = identity.inode
        }
    }

    struct Entry: Equatable {
        let identity: FileIdentity
        let digest: String
        /// Days since 1970.
        let usedOn: Int64
    }

    private let directory: String
    private let busySeconds: Double
    private let queue: DatabaseQueue

    /// Opens or creates the cache; replaces one that is no database.
    ///
    /// - Throws: Why there is none: `StoreError`, errors of SQLite.
    convenience init(directory: String, busySeconds: Double) throws {
        try self.init(directory: Self.prepare(directory), busySeconds: busySeconds, isSuspect: false)
    }

    /// As above. A suspect cache is checked as a whole: somebody found it corrupt, and perhaps replaced it since.
    private init(directory: String, busySeconds: Double, isSuspect: Bool) throws {
        self.directory = directory
        self.busySeconds = busySeconds
        let path = Self.path(in: directory)
        let lock = try Self.lock(directory, busySeconds: busySeconds)
        defer { lock.remove() }
        do {
            queue = try Self.open(path, busySeconds: busySeconds, isSuspect: isSuspect)
        } catch  where Self.isCorruption(error) {
            for name in [path, path + "-wal", path + "-shm", path + "-journal"] { unlink(name) }
            queue = try Self.open(path, busySeconds: busySeconds, isSuspect: false)
        }
    }

    /// What to use after an error.
    ///
    /// - Throws: The error, unless the cache was corrupt and could be replaced.
    func replaced(because error: any Error) throws -> HashDatabase {
        guard Self.isCorruption(error) else { throw error }
        try queue.close()
        return try HashDatabase(directory: directory, busySeconds: busySeconds, isSuspect: true)
    }

    // MARK: Use

    func entry(of identity: FileIdentity) throws -> Entry? {
        // One statement is a transaction of its own; a second one would only cost time.
        try queue.unsafeRead { try Self.entry(of: identity, $0) }
    }

    /// Those of many files, in their order.
    func entries(of identities: [FileIdentity]) throws -> [Entry?] {
        try queue.unsafeRead { db in
            var entries: [Entry?] = []
            try db.inTransaction(.deferred) {
                entries = try identities.map { try Self.entry(of: $0, db) }
                return .commit
            }
            return entries
        }
    }

    private static func entry(of identity: FileIdentity, _ db: Database) throws -> Entry? {
        let statement = try db.cachedStatement(
            sql: """
                SELECT digest, used_on FROM hashes
                WHERE device = ? AND inode = ? AND size = ? AND modified_ns = ? AND changed_ns = ?
                """
        )
        guard let row = try Row.fetchOne(statement, arguments: StatementArguments(values(identity))) else { return nil }
        return Entry(identity: identity, digest: row[0], usedOn: row[1])
    }

    /// Writes all, and removes what was last used before a day.
    func write(_ entries: [Entry], prunedBefore day: Int64) throws {
        try queue.write { db in
            let statement = try db.cachedStatement(
                sql: """
                    INSERT OR REPLACE INTO hashes (device, inode, size, modified_ns, changed_ns, digest, used_on)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """
            )
            for entry in entries {
                try statement.execute(
                    arguments: StatementArguments(Self.values(entry.identity) + [entry.digest, entry.usedOn])
                )
            }
            try db.execute(sql: "DELETE FROM hashes WHERE used_on < ?", arguments: [day])
        }
    }

    private static func values(_ identity: FileIdentity) -> [any DatabaseValueConvertible] {
        [
            Int64(bitPattern: identity.device), Int64(bitPattern: identity.inode), identity.size,
            identity.modificationNanoseconds, identity.changeNanoseconds,
        ]
    }

    static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    // MARK: Opening

    /// Marks our caches (`PRAGMA application_id`): "MDHC".
    private static let applicationID = 0x4D44_4843
    private static let version = 1
    private static let schema = """
        CREATE TABLE hashes (
            device INTEGER NOT NULL,
            inode INTEGER NOT NULL,
            size INTEGER NOT NULL,
            modified_ns INTEGER NOT NULL,
            changed_ns INTEGER NOT NULL,
            digest TEXT NOT NULL CHECK (length(digest) = 64),
            used_on INTEGER NOT NULL,
            PRIMARY KEY (device, inode)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX hashes_by_use ON hashes (used_on);
        """

    private static func path(in directory: String) -> String { directory + "/hashes.sqlite" }

    /// Makes the directory, or sees that it is safe: another user's entries could make us skip a file.
    private static func prepare(_ directory: String) throws(StoreError) -> String {
        try DataDirectory.create(directory)
        let resolved = try DataDirectory.followingOwnLink(directory)
        guard let status = try FileStatus(at: resolved), status.isDirectory, status.isOwnedByUser,
            !status.isWritableByOthers
        else { throw StoreError(.unsafe, path: directory, detail: "not a directory of this user alone") }
        return resolved
    }

    /// Opening is one at a time: SQLite does not wait while another connection switches the journal mode, and nobody must
    /// replace what somebody has just made.
    private static func lock(_ directory: String, busySeconds: Double) throws(StoreError) -> LockedFile {
        let path = path(in: directory) + ".lock"
        let deadline = ContinuousClock.now + .seconds(busySeconds)
        while true {
            if let lock = try LockedFile.openOrCreate(path) { return lock }
            guard ContinuousClock.now < deadline else { throw StoreError(.busy, path: path) }
            usleep(1000)
        }
    }

    private static func open(_ path: String, busySeconds: Double, isSuspect: Bool) throws -> DatabaseQueue {
        try makeFile(path)
        var configuration = Configuration()
        configuration.busyMode = .timeout(busySeconds)
        configuration.label = "mediactl.hashes"
        SQLiteProcess.isPrepared
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { db in
            if isSuspect, try String.fetchOne(db, sql: "PRAGMA quick_check(1)") != "ok" {
                throw DatabaseError(resultCode: .SQLITE_CORRUPT)
            }
            let journal: JournalMode = try FileSystemKind.isNetwork(path) ? .rollback : .writeAheadLog
            try migrate(db, path: path)
            try journal.apply(to: db, path: path)
            // A power cut may cost the last entries, never the others.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        return queue
    }

    /// An empty file is an empty database; SQLite gives the others beside it the same mode.
    private static func makeFile(_ path: String) throws(StoreError) {
        let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            fchmod(descriptor, 0o600)
            close(descriptor)
        }
        guard let status = try FileStatus(at: path), status.isRegularFile, status.isOwnedByUser else {
            throw StoreError(.unsafe, path: path, detail: "not a regular file of this user")
        }
        if status.isLoose { chmod(path, 0o600) }
    }

    private static func migrate(_ db: Database, path: String) throws {
        let application = try Int.fetchOne(db, sql: "PRAGMA application_id")
        let found = try Int.fetchOne(db, sql: "PRAGMA user_version")
        if application == applicationID, found == version { return }
        guard application == 0, found == 0, try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_master") == 0 else {
            throw StoreError(.newerVersion, path: path, detail: "version \(found ?? -1) of \(application ?? -1)")
        }
        try db.inTransaction(.immediate) {
            try db.execute(sql: schema)
            try db.execute(sql: "PRAGMA application_id = \(applicationID)")
            try db.execute(sql: "PRAGMA user_version = \(version)")
            return .commit
        }
    }

    private static func isCorruption(_ error: any Error) -> Bool {
        guard let code = (error as? DatabaseError)?.resultCode else { return false }
        return code == .SQLITE_CORRUPT || code == .SQLITE_NOTADB
    }
}
