import GRDB

/// The schema of a database: its file name, application ID and tables, and how durable its rows are.
struct StoreSchema: Sendable {
    /// The guarantee of a commit (sqlite.org/pragma.html#pragma_synchronous).
    enum Durability: Int, Sendable {
        /// A commit may be lost in a power loss, but not if the process is killed. The file stays intact.
        case normal = 1
        /// A commit is on disk.
        case full = 2
    }

    let fileName: String
    /// Identifies the database (`PRAGMA application_id`).
    let applicationID: Int
    /// The statements of each step from one version to the next. Released steps are never edited; new steps are
    /// appended. `PRAGMA user_version` is the number of steps applied.
    let migrations: [String]
    var durability = Durability.full
    /// Whether removed bytes are overwritten, and nothing is written to temporary files.
    var holdsSecrets = true
    /// The tables that are checked completely every time the database is opened; nil for all. Checking large tables
    /// would take seconds in every command.
    var checkedTables: [String]?
    /// Whether damage found in use causes a full check the next time the database is opened: `IndexRepair`.
    var notesDamage = false
    /// `quick_check`, or `integrity_check`, which also finds rows that an index lacks.
    var contentCheck = "quick_check"
    /// Additional settings of the connection that writes (`PRAGMA`).
    var settings: [String] = []
    /// Statements that add indexes without a new version: older versions maintain them, and no query requires them.
    var indexes: [String] = []
    /// Queries for rows that no version can have written; each returns a description of the error, or nothing.
    var rowChecks: [String] = []
    /// Whether a large database that was found intact is not read again until its file is changed by something else.
    var remembersChecks = false

    /// Applies the missing migrations, in one transaction per call; the version is read inside it, so exactly one of
    /// many processes does the work.
    func migrate(_ db: Database) throws {
        guard try Self.version(db) < migrations.count else { return }
        try db.inTransaction(.immediate) {
            for migration in migrations.dropFirst(try Self.version(db)) { try db.execute(sql: migration) }
            try db.execute(sql: "PRAGMA user_version = \(migrations.count)")
            return .commit
        }
    }

    /// Refuses a database of another program or of a newer version, and damaged content.
    func check(_ db: Database, path: String, isKnownWhole: Bool = false) throws {
        let application = try Int.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        guard application == applicationID else {
            throw StoreError(
                .corrupt,
                path: path,
                detail: "another program's database (application ID \(application))"
            )
        }
        let version = try Self.version(db)
        guard version <= migrations.count else {
            throw StoreError(
                .newerVersion,
                path: path,
                detail: "schema \(version); this version supports up to \(migrations.count)"
            )
        }
        let encoding = try String.fetchOne(db, sql: "PRAGMA encoding") ?? "none"
        guard encoding == "UTF-8" else { throw StoreError(.corrupt, path: path, detail: "the encoding is \(encoding)") }
        guard version > 0 else { throw StoreError(.corrupt, path: path, detail: "a database without its schema") }
        guard !isKnownWhole else { return }
        for scope in checkedTables ?? ["1"] { try Self.checkContent(db, scope, with: contentCheck, path: path) }
    }

    /// Refuses rows whose tables are intact but whose values cannot be read, so every command refuses the same stores.
    func checkRows(_ db: Database, path: String) throws {
        for query in rowChecks {
            guard let finding = try String.fetchOne(db, sql: query) else { continue }
            throw StoreError(.corrupt, path: path, detail: finding)
        }
    }

    /// Checks a table, or all of them if the scope is `1` (which is also the number of findings requested).
    static func checkContent(
        _ db: Database,
        _ scope: String = "1",
        with check: String = "quick_check",
        path: String
    ) throws {
        let report = try String.fetchOne(db, sql: "PRAGMA \(check)(\(scope))") ?? "no result"
        guard report == "ok" else { throw StoreError(.corrupt, path: path, detail: StoreError.oneLine(report)) }
    }

    static func version(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    }
}
