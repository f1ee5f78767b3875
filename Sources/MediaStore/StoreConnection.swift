internal import CSQLiteShims
import GRDB
import Glibc
internal import MediaSystem
import Synchronization

/// An open database of mediactl: checked, migrated, and verified to be writable.
final class StoreConnection: Sendable {
    enum Access: Sendable {
        /// The store must be writable; opening verifies that with a write.
        case writing
        /// Nothing needs to be stored.
        case reading
    }

    let path: String
    private let schema: StoreSchema
    let queue: DatabaseQueue
    private let busyLimit: Duration
    private let journal: JournalMode
    /// A second connection, opened when first needed; nil with a rollback journal, with which reading
    /// waits for writing.
    private let reader = Mutex<DatabaseQueue?>(nil)
    private let mark: WholeMark
    /// The open file; nil for a snapshot and for a temporary database.
    private let key: FileIdentity.Key?
    /// Whether the content was checked, and nothing has failed since then.
    private let isWhole = Atomic(false)

    /// Opens or creates the database. A database that cannot be used is not changed.
    init(
        _ schema: StoreSchema,
        in directory: DataDirectory,
        fileSystem: FileSystemKind,
        busyLimit: Duration,
        access: Access = .writing
    ) throws(StoreError) {
        let path = directory.file(schema.fileName)
        let journal = try JournalMode(on: fileSystem, directory: directory)
        if try !Self.exists(path) {
            try Self.create(schema, in: directory, journal: journal, busyLimit: busyLimit)
        }
        self.path = path
        self.schema = schema
        self.busyLimit = busyLimit
        self.journal = journal
        mark = WholeMark(of: path, isUsed: schema.remembersChecks)
        queue = try Self.open(path, schema, busyLimit: busyLimit, keepsLog: true)
        key = try FileStatus(at: path)?.key
        try prepare(access)
    }

    /// Wraps an open database. Writing fails, or changes data that is lost with the connection.
    init(snapshot queue: DatabaseQueue, of path: String, _ schema: StoreSchema) {
        self.path = path
        self.schema = schema
        self.queue = queue
        busyLimit = .zero
        journal = .rollback
        key = nil
        mark = WholeMark(of: path, isUsed: false)
    }

    deinit {
        guard isWhole.load(ordering: .relaxed) else { return }
        // Closing moves the log into the database, which changes the file.
        reader.withLock { try? $0?.close() }
        try? queue.close()
        mark.write()
    }

    /// Creates a database without a name, for this connection only. Data that does not stay in memory is in files in
    /// the temporary directory, readable by this user only, that SQLite removes as soon as they are open: nothing is
    /// left, no matter how the process terminates (sqlite.org/tempfiles.html, sqlite.org/inmemorydb.html#temp_db).
    ///
    /// - Throws: `StoreError`; here and later, the error's path is `temporary.sqlite` in the temporary directory, which
    ///   does not exist.
    convenience init(temporary schema: StoreSchema) throws(StoreError) {
        let queue = try Self.open("", schema, busyLimit: .zero)
        self.init(snapshot: queue, of: Self.temporaryDirectory + "/temporary.sqlite", schema)
        try write { db in
            for setting in schema.settings { _ = try String.fetchOne(db, sql: "PRAGMA \(setting)") }
            for migration in schema.migrations { try db.execute(sql: migration) }
        }
    }

    static var temporaryDirectory: String {
        let wanted = [getenv("SQLITE_TMPDIR"), getenv("TMPDIR")].compactMap { $0.map { String(cString: $0) } }
        return (wanted + ["/var/tmp", "/usr/tmp", "/tmp"]).first { access($0, W_OK | X_OK) == 0 } ?? "."
    }

    static let companions = ["-wal", "-shm", "-journal"]

    // MARK: Use

    /// Reads, in one transaction.
    ///
    /// Not `queue.read`: it guards against writes with `PRAGMA query_only`, after which SQLite recompiles every cached
    /// statement, which costs as much as a small upload.
    func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        try read(from: queue, body)
    }

    /// Like `read`, but concurrently with a write transaction, whose changes it does not see: in a batch, the writer
    /// waits for the disk most of the time. Sees everything that was durable before the call.
    func readBeside<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        try read(from: reading(), body)
    }

    /// Like `readBeside`, but each statement is a separate transaction: beginning and ending one takes as long as
    /// finding a row.
    func queryBeside<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        let queue = try reading()
        do { return try queue.unsafeRead(body) } catch { throw failure(error) }
    }

    private func reading() throws(StoreError) -> DatabaseQueue {
        guard journal == .writeAheadLog else { return queue }
        if let known = reader.withLock({ $0 }) { return known }
        let new = try Self.open(path, schema, busyLimit: busyLimit)
        return reader.withLock { reader in
            let first = reader ?? new
            reader = first
            return first
        }
    }

    private func read<Value>(
        from queue: DatabaseQueue,
        _ body: (Database) throws -> Value
    ) throws(StoreError) -> Value {
        do {
            return try queue.unsafeRead { db in
                var value: Value?
                try db.inTransaction(.deferred) {
                    value = try body(db)
                    return .commit
                }
                guard let value else { throw StoreError(.other, path: path, detail: "nothing was read") }
                return value
            }
        } catch {
            throw failure(error)
        }
    }

    /// Writes in one transaction, durable when this returns.
    ///
    /// Throws if the database was moved, replaced or removed since it was opened: SQLite would continue to write to a
    /// file that no later command opens.
    func write<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
        let value: Value
        do { value = try queue.write(body) } catch { throw failure(error) }
        if let key, try FileStatus(at: path)?.key != key {
            throw StoreError(.other, path: path, detail: "it was moved, replaced or removed while in use")
        }
        return value
    }

    /// Damage found in use causes a full check the next time the database is opened.
    func failure(_ error: any Error) -> StoreError {
        let error = StoreError(error, path: path)
        if error.kind == .corrupt {
            mark.remove()
            if isWhole.exchange(false, ordering: .relaxed), schema.notesDamage { IndexRepair.noteDamage(path) }
        }
        return error
    }

    /// Moves everything from the write-ahead log to the database and empties the log, so no removed byte remains. Fails
    /// with `.busy` if other processes use the log for longer than `limit`, or than the connection's limit if it is
    /// nil.
    func truncateLog(limit: Duration? = nil) throws(StoreError) {
        let deadline = ContinuousClock.now + (limit ?? busyLimit)
        while try !tryTruncateLog() {
            guard ContinuousClock.now < deadline else {
                throw StoreError(.busy, path: path, detail: "cleared, but the write-ahead log is still in use")
            }
            usleep(10_000)
        }
    }

    /// Waits until all readable data is on disk. SQLite synchronizes before a transaction returns; a process that
    /// is killed before that can leave a transaction that others can already read.
    ///
    /// Synchronizes only the logs: SQLite itself synchronizes the database before it truncates them.
    func synchronizeLogs() throws(StoreError) {
        for companion in ["-wal", "-journal"] where try FileStatus(at: path + companion) != nil {
            do throws(StoreError) {
                try DataDirectory.synchronizeFile(path + companion)
            } catch {
                // Another process has closed the store, so everything is in the database.
                guard try FileStatus(at: path + companion) == nil else { throw error }
            }
        }
    }

    /// SQLite's busy handler is not called while another process runs a checkpoint, hence the loop above.
    private func tryTruncateLog() throws(StoreError) -> Bool {
        do {
            return try queue.writeWithoutTransaction { db in
                try Int.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)") == 0
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            return false
        } catch {
            throw StoreError(error, path: path)
        }
    }

    // MARK: Opening

    /// Whether there is a database to open.
    ///
    /// The file is never opened directly: closing it would drop the record locks of this process's connections.
    static func exists(_ path: String) throws(StoreError) -> Bool {
        var hasLog = false
        for companion in companions {
            guard let status = try FileStatus(at: path + companion) else { continue }
            try FileStatus.requireOwnFile(status, at: path + companion)
            hasLog = hasLog || companion != "-shm"
        }
        // The database is checked after its companions, which appear only once the database exists.
        guard let status = try FileStatus(at: path) else {
            // A log without its database would be replayed over a new one.
            guard !hasLog else { throw StoreError(.corrupt, path: path, detail: "missing, but its log exists") }
            return false
        }
        try FileStatus.requireOwnFile(status, at: path)
        guard status.size > 0 else { throw StoreError(.corrupt, path: path, detail: "empty file") }
        return true
    }

    /// Creates the database under a different name, so a partial one is never visible.
    private static func create(
        _ schema: StoreSchema,
        in directory: DataDirectory,
        journal: JournalMode,
        busyLimit: Duration
    ) throws(StoreError) {
        let path = directory.file(schema.fileName)
        let lock = try lock(schema, in: directory, limit: busyLimit)
        defer { lock.remove() }
        guard try !exists(path) else { return }
        let draft = path + ".new"
        do {
            let queue = try createDraft(draft, schema, journal: journal, busyLimit: busyLimit)
            try queue.writeWithoutTransaction { db in
                // Closing would also do this, but would not report a full disk.
                try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
            }
            try queue.close()
        } catch {
            for leftover in [draft] + companions.map({ draft + $0 }) { unlink(leftover) }
            throw StoreError(error, path: path)
        }
        unlink(draft + "-journal")
        try StoreError.check(path, "cannot create", rename(draft, path))
        try directory.synchronize()
    }

    /// Creates an empty database in place of the leftovers from a crashed process.
    static func createDraft(
        _ draft: String,
        _ schema: StoreSchema,
        journal: JournalMode,
        busyLimit: Duration
    ) throws(StoreError) -> DatabaseQueue {
        for leftover in [draft] + companions.map({ draft + $0 }) { unlink(leftover) }
        try createEmptyFile(draft)
        let queue = try open(draft, schema, busyLimit: busyLimit)
        try StoreError.of(draft) {
            try queue.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA application_id = \(schema.applicationID)")
                try journal.apply(to: db, path: draft)
                try db.execute(sql: "PRAGMA synchronous = FULL")
                try schema.migrate(db)
            }
        }
        return queue
    }

    static func createEmptyFile(_ path: String) throws(StoreError) {
        let descriptor = try openFile(path, O_RDWR | O_CREAT | O_EXCL, "cannot create")
        defer { close(descriptor) }
        // SQLite gives -wal, -shm and -journal the mode of the database.
        try StoreError.check(path, "cannot set permissions", fchmod(descriptor, 0o600))
    }

    /// Held while the database is created or replaced.
    static func lock(
        _ schema: StoreSchema,
        in directory: DataDirectory,
        limit: Duration
    ) throws(StoreError) -> LockedFile {
        let path = directory.lockFile(schema.fileName)
        return try LockedFile.waiting(for: path, limit: limit, "another process is creating the store")
    }

    static func open(
        _ path: String,
        _ schema: StoreSchema,
        busyLimit: Duration,
        isReadOnly: Bool = false,
        keepsLog: Bool = false
    ) throws(StoreError) -> DatabaseQueue {
        SQLiteProcess.isPrepared
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(Double(busyLimit.components.seconds))
        configuration.foreignKeysEnabled = true
        configuration.label = "mediactl.store"
        configuration.prepareDatabase { db in
            // A refused database is not changed, and neither is its log.
            if keepsLog { keepLog(db, true) }
            if schema.holdsSecrets {
                _ = try String.fetchOne(db, sql: "PRAGMA secure_delete = ON")
                try db.execute(sql: "PRAGMA temp_store = MEMORY")
            }
        }
        do {
            return try DatabaseQueue(path: path, configuration: configuration)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw unknownFormat(error, path)
        } catch {
            throw StoreError(error, path: path)
        }
    }

    /// The statements are valid, so the database is not: SQLite has no separate code for an unknown schema format.
    private static func unknownFormat(_ error: DatabaseError, _ path: String) -> StoreError {
        StoreError(.corrupt, path: path, detail: StoreError.message(of: error))
    }

    private static func keepLog(_ db: Database, _ keeps: Bool) {
        guard let connection = db.sqliteConnection else { return }
        sqlite_shim_keep_log(UnsafeMutableRawPointer(connection), keeps)
    }

    /// The pages of a transaction are written with few system calls (docs/adr/0052). Without memory for the buffer,
    /// each is written separately.
    private func bufferLog(_ db: Database) {
        guard journal == .writeAheadLog, schema.durability == .full, let connection = db.sqliteConnection else {
            return
        }
        _ = sqlite_shim_buffer_log(UnsafeMutableRawPointer(connection))
    }

    private func prepare(_ access: Access) throws(StoreError) {
        let isKnownWhole = mark.matches
        let before = mark.current
        do {
            try queue.writeWithoutTransaction { db in
                try schema.check(db, path: path, isKnownWhole: isKnownWhole)
                try checkWritable(db)
                try journal.apply(to: db, path: path)
                for setting in schema.settings { _ = try String.fetchOne(db, sql: "PRAGMA \(setting)") }
                // Set after the journal mode, because switching to WAL may have relaxed it.
                let wanted = schema.durability.rawValue
                try db.execute(sql: "PRAGMA synchronous = \(wanted)")
                let synchronous = try Int.fetchOne(db, sql: "PRAGMA synchronous")
                guard synchronous == wanted else {
                    throw StoreError(.other, path: path, detail: "synchronous is \(synchronous ?? -1), not \(wanted)")
                }
                try schema.migrate(db)
                if !isKnownWhole { try schema.checkRows(db, path: path) }
                for index in schema.indexes { try db.execute(sql: index) }
                if access == .writing { try verifyWritable(db) }
                bufferLog(db)
                Self.keepLog(db, false)
            }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            throw failure(Self.unknownFormat(error, path))
        } catch {
            throw failure(error)
        }
        isWhole.store(true, ordering: .relaxed)
        if !isKnownWhole { mark.write(unlessChangedFrom: before) }
    }

    /// SQLite opens a file read-only if its header specifies a later format. A file that cannot be written for another
    /// reason is detected by the write below.
    private func checkWritable(_ db: Database) throws {
        guard let connection = db.sqliteConnection, sqlite_shim_is_read_only(UnsafeMutableRawPointer(connection)),
            access(path, W_OK) == 0
        else { return }
        throw StoreError(.corrupt, path: path, detail: "unknown file format")
    }

    /// Writes the version once more: SQLite writes the page even though nothing in it changes.
    private func verifyWritable(_ db: Database) throws {
        try db.inTransaction(.immediate) {
            try db.execute(sql: "PRAGMA user_version = \(StoreSchema.version(db))")
            return .commit
        }
    }
}

extension StoreConnection {
    /// Copies the database into an empty file. Errors of that file contain its later path.
    func copy(to file: String, named path: String) throws(StoreError) {
        do {
            try queue.writeWithoutTransaction { db in
                // `query_only`, which `snapshot` sets, would also prevent the copy.
                let isQueryOnly = try Bool.fetchOne(db, sql: "PRAGMA query_only") ?? false
                if isQueryOnly { try db.execute(sql: "PRAGMA query_only = OFF") }
                defer { if isQueryOnly { try? db.execute(sql: "PRAGMA query_only = ON") } }
                do {
                    try db.execute(sql: "VACUUM INTO ?", arguments: [file])
                } catch let error as DatabaseError where Self.isOfWriting(error) {
                    // Only the copy is written.
                    throw StoreError(error, path: path)
                }
            }
        } catch {
            throw failure(error)
        }
    }

    /// Whether an error can only concern the file that is being written.
    private static func isOfWriting(_ error: DatabaseError) -> Bool {
        switch error.extendedResultCode {
        case .SQLITE_IOERR_WRITE, .SQLITE_IOERR_FSYNC, .SQLITE_IOERR_TRUNCATE: true
        default: [.SQLITE_FULL, .SQLITE_CANTOPEN, .SQLITE_READONLY, .SQLITE_PERM].contains(error.resultCode)
        }
    }
}

/// How SQLite keeps a transaction until it is complete.
enum JournalMode: String {
    /// Fast, but requires memory shared between processes.
    case writeAheadLog = "wal"
    /// Works wherever locks do. The journal is truncated rather than deleted: SQLite syncs the truncation at FULL,
    /// whereas a deletion is only durable once the directory is synced.
    case rollback = "truncate"

    init(on fileSystem: FileSystemKind, directory: DataDirectory) throws(StoreError) {
        switch fileSystem {
        case .local: self = .writeAheadLog
        case .network: self = .rollback
        case .networkWithoutLocks:
            throw StoreError(
                .networkFileSystem,
                path: directory.path,
                detail: "no file locks on this network file system; choose a local directory with --data-dir"
            )
        }
    }

    func apply(to db: Database, path: String) throws {
        let mode = try String.fetchOne(db, sql: "PRAGMA journal_mode = \(rawValue)")
        guard mode == rawValue else {
            throw StoreError(.busy, path: path, detail: "journal mode is \(mode ?? "unknown"), not \(rawValue)")
        }
    }
}

/// The setup of SQLite for the whole process.
enum SQLiteProcess {
    /// Read before each database is opened; only the first time has an effect.
    static let isPrepared: Void = sqlite_shim_prepare()
}

/// The SQLite version in this process. It may be newer than the version that mediactl was built with.
public enum SQLiteVersion {
    /// The version number, such as `3.40.1`.
    public static var number: String {
        // A constant of SQLite, which stays loaded.
        String(cString: sqlite_shim_library_version())
    }
}
