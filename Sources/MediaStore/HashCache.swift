public import Foundation
import GRDB
import Glibc
internal import MediaCore
public import MediaSystem
import Synchronization

/// Caches the SHA-256 digests of files, so unchanged files are not read again (`hashes.sqlite` in the cache directory).
/// Losing it costs only time: a cache that cannot be opened, read or written behaves like an empty one, and a corrupt
/// one is replaced. A cache written by a newer version is not changed.
///
/// A file counts as unchanged if device, inode, size, mtime and ctime are the same to the nanosecond. A digest is not
/// kept for a file that changed a moment ago, because a later change could leave the same times: the kernel's clock for
/// them advances in steps of up to 10 ms, so the margin is twice that, or 2 seconds if both times are whole seconds
/// (FAT counts in steps of two).
///
/// Many tasks and processes may use one directory concurrently. Entries that have not been used for 180 days are
/// removed.
public final class HashCache: Sendable {
    /// Nanoseconds after a change during which a digest is not cached, on a file system whose times have fractions of a
    /// second.
    package static let restAfterChange: Int64 = 20_000_000

    private struct State {
        var database: HashDatabase?
        /// One entry per file; a digest of its earlier content is useless.
        var waiting: [FileIdentity.Key: HashDatabase.Entry] = [:]
        var isScheduled = false
    }

    private static let many = 200

    private let state: Mutex<State>
    private let writer = DispatchQueue(label: "mediactl.hashes.write")
    private let now: @Sendable () -> Date

    /// Opens or creates the cache in a directory (0700, created if missing). A directory that others may write to is
    /// not used.
    public convenience init(directory: String) {
        self.init(directory: directory, now: { Date() })
    }

    init(directory: String, busySeconds: Double = 5, now: @escaping @Sendable () -> Date) {
        self.now = now
        state = Mutex(State(database: try? HashDatabase(directory: directory, busySeconds: busySeconds)))
    }

    // There are no other references; the last one may be released on the writer's own queue.
    deinit { write() }

    /// The digest of a file, 64 lowercase hexadecimal characters; nil if it is not known. Takes a few microseconds.
    public func digest(of identity: FileIdentity) -> String? { digests(of: [identity])[0] }

    /// The digests of many files, in the same order: like `digest(of:)`, but several times as fast.
    public func digests(of identities: [FileIdentity]) -> [String?] {
        let (waiting, database) = state.withLock { ($0.waiting, $0.database) }
        let found = database.flatMap { attempt($0) { try $0.entries(of: identities) } }
        return identities.indices.map { index in
            if let entry = waiting[FileIdentity.Key(identities[index])] {
                return entry.identity == identities[index] ? entry.digest : nil
            }
            guard let entry = found?[index] else { return nil }
            noteUse(of: entry)
            return entry.digest
        }
    }

    /// Records the use at most once a day; otherwise every lookup would be a write.
    private func noteUse(of entry: HashDatabase.Entry) {
        guard entry.usedOn != today else { return }
        enqueue(HashDatabase.Entry(identity: entry.identity, digest: entry.digest, usedOn: today))
    }

    /// Keeps a digest (64 lowercase hexadecimal characters; anything else is not kept). Returns immediately; the digest
    /// is written together with others within about a second, or by `flush` at the latest. The digest of a file that
    /// changed just before `readingBegan` (nil means now) is not kept.
    public func keep(_ digest: String, for identity: FileIdentity, readingBegan: Date? = nil) {
        guard SHA256Text.isLowerCase(digest), !identity.mayChangeUnseen(after: readingBegan ?? now()) else { return }
        enqueue(HashDatabase.Entry(identity: identity, digest: digest, usedOn: today))
    }

    /// Writes pending entries. Blocks for at most 5 seconds, while another process has locked the cache.
    public func flush() { writer.sync { write() } }

    private var today: Int64 { Int64(now().timeIntervalSince1970 / 86_400) }

    private func enqueue(_ entry: HashDatabase.Entry) {
        let (isFirst, isMany) = state.withLock { state in
            guard state.database != nil else { return (false, false) }
            state.waiting[FileIdentity.Key(entry.identity)] = entry
            defer { state.isScheduled = true }
            return (!state.isScheduled, state.waiting.count % Self.many == 0)
        }
        // Writes during a batch, so its end need not wait for all entries.
        if isMany { writer.async { [weak self] in self?.write() } }
        if isFirst { writer.asyncAfter(deadline: .now() + 1) { [weak self] in self?.write() } }
    }

    /// Runs on `writer`, so an older entry never overtakes a newer one.
    private func write() {
        let (database, entries) = state.withLock { state in
            state.isScheduled = false
            return (state.database, state.waiting)
        }
        guard let database, !entries.isEmpty else { return }
        attempt(database) { try $0.write(Array(entries.values), prunedBefore: today - 180) }
        state.withLock { state in
            // Entries stay in `waiting` until they are in the database.
            for (key, entry) in entries where state.waiting[key] == entry { state.waiting[key] = nil }
        }
    }

    /// nil if the cache failed: a corrupt cache was replaced; any other cache is no longer used.
    @discardableResult
    private func attempt<Value>(_ database: HashDatabase, _ body: (HashDatabase) throws -> Value) -> Value? {
        do {
            return try body(database)
        } catch {
            let replacement = try? database.replaced(because: error)
            state.withLock { state in
                guard state.database === database else { return }
                state.database = replacement
                if replacement == nil { state.waiting = [:] }
            }
            return nil
        }
    }
}

extension FileIdentity {
    /// Whether a change after this moment could leave mtime and ctime unchanged. A ctime in the future comes from
    /// another machine's clock, and shows nothing; anyone can set an mtime in the future.
    fileprivate func mayChangeUnseen(after date: Date) -> Bool {
        // From the year 2116 on (2^62 ns), nothing is known about a change, so the sums below cannot overflow.
        guard let moment = Int64(exactly: (date.timeIntervalSince1970 * 1e9).rounded()), moment.magnitude < 1 << 62
        else {
            return true
        }
        let isCoarse = modificationNanoseconds % 1_000_000_000 == 0 && changeNanoseconds % 1_000_000_000 == 0
        let margin: Int64 = isCoarse ? 2_000_000_000 : HashCache.restAfterChange
        let recent = (moment - margin)...(moment + margin)
        return changeNanoseconds >= recent.lowerBound || recent.contains(modificationNanoseconds)
    }
}

/// `hashes.sqlite`. A row never becomes wrong: it has the digest of a file with exactly these times.
final class HashDatabase: Sendable {
    struct Entry: Equatable {
        let identity: FileIdentity
        let digest: String
        /// Days since 1970.
        let usedOn: Int64
    }

    private let directory: String
    private let busySeconds: Double
    private let queue: DatabaseQueue

    /// Opens or creates the cache; replaces one that is not a database. A suspect cache is checked completely: a
    /// process found it corrupt, and may have replaced it since then.
    init(directory: String, busySeconds: Double, isSuspect: Bool = false) throws {
        self.directory = try Self.prepare(directory)
        self.busySeconds = busySeconds
        let path = self.directory + "/hashes.sqlite"
        // Only one process opens it at a time: SQLite does not wait while another connection switches the journal mode,
        // and a cache that another process has just created must not be replaced.
        let lock = try LockedFile.waiting(for: path + ".lock", limit: .seconds(busySeconds))
        defer { lock.remove() }
        do {
            queue = try Self.open(path, busySeconds: busySeconds, isSuspect: isSuspect)
        } catch  where Self.isCorruption(error) {
            for suffix in [""] + StoreConnection.companions { unlink(path + suffix) }
            queue = try Self.open(path, busySeconds: busySeconds, isSuspect: false)
        }
    }

    /// The database to use after an error.
    func replaced(because error: any Error) throws -> HashDatabase {
        guard Self.isCorruption(error) else { throw error }
        try queue.close()
        return try HashDatabase(directory: directory, busySeconds: busySeconds, isSuspect: true)
    }

    // MARK: Use

    func entries(of identities: [FileIdentity]) throws -> [Entry?] {
        try queue.unsafeRead { db in
            var entries: [Entry?] = []
            try db.inTransaction(.deferred) {
                let select = try RawStatement(
                    db,
                    """
                    SELECT digest, used_on FROM hashes
                    WHERE device = ?1 AND inode = ?2 AND size = ?3 AND modified_ns = ?4 AND changed_ns = ?5
                    """
                )
                entries = try identities.map { identity in
                    try select.map(Self.values(identity)) { row in
                        Entry(identity: identity, digest: row.text(0), usedOn: row.integer(1))
                    }.first
                }
                return .commit
            }
            return entries
        }
    }

    /// Writes entries, and removes those last used before this day.
    func write(_ entries: [Entry], prunedBefore day: Int64) throws {
        try queue.write { db in
            let insert = try RawStatement(
                db,
                """
                INSERT OR REPLACE INTO hashes (device, inode, size, modified_ns, changed_ns, digest, used_on)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                """
            )
            for entry in entries {
                try insert.run(Self.values(entry.identity) + [.text(entry.digest), .integer(entry.usedOn)])
            }
            try db.execute(sql: "DELETE FROM hashes WHERE used_on < ?", arguments: [day])
        }
    }

    private static func values(_ identity: FileIdentity) -> [RawValue] {
        [
            Int64(bitPattern: identity.device), Int64(bitPattern: identity.inode), identity.size,
            identity.modificationNanoseconds, identity.changeNanoseconds,
        ].map(RawValue.integer)
    }

    // MARK: Opening

    /// Identifies mediactl's caches (`PRAGMA application_id`): "MDHC".
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

    /// Creates the directory, or checks that it is safe: another user's entries could cause a file to be skipped.
    private static func prepare(_ directory: String) throws(StoreError) -> String {
        try DataDirectory.create(directory)
        let resolved = try DataDirectory.followingOwnLink(directory)
        guard let status = try FileStatus(at: resolved), status.isDirectory, status.isOwnedByUser,
            !status.isWritableByOthers
        else { throw StoreError(.unsafe, path: directory, detail: "not a directory that only this user can use") }
        return resolved
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
            // A power loss may lose the last entries, never the others.
            try db.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        return queue
    }

    /// An empty file is an empty database.
    private static func makeFile(_ path: String) throws(StoreError) {
        if try FileStatus(at: path) == nil { try StoreConnection.createEmptyFile(path) }
        let status = try FileStatus(at: path)
        try FileStatus.requireOwnFile(status, at: path)
        if status?.isLoose == true { chmod(path, 0o600) }
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
