internal import GRDB
internal import GRDBSQLite

/// A prepared statement used through SQLite's own functions: a million rows are bound, stepped through and compared
/// without a value made for each column. Used within one access to the database, by its thread.
struct RawStatement {
    private let statement: OpaquePointer
    private let connection: OpaquePointer?
    /// Keeps `statement` from being finalised.
    private let owner: Statement

    init(_ db: Database, _ sql: String) throws {
        owner = try db.cachedStatement(sql: sql)
        statement = owner.sqliteStatement
        connection = db.sqliteConnection
        reset()
    }

    /// Makes it ready to be bound and run again.
    func reset() { sqlite3_reset(statement) }

    /// Forgets what is bound: memory that is about to go.
    func clear() {
        sqlite3_reset(statement)
        sqlite3_clear_bindings(statement)
    }

    // MARK: Parameters, counted from 1

    /// `SQLITE_TRANSIENT`: SQLite makes a copy at once.
    private static var copied: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    func bind(_ value: Int64?, at index: Int32) {
        if let value {
            sqlite3_bind_int64(statement, index, value)
        } else {
            sqlite3_bind_null(statement, index)
        }
    }

    /// Binds a value without a copy of it: it has to stay where it is until `clear`, or until it is bound anew.
    func bind(_ value: RawValue?, at index: Int32) {
        switch value {
        case nil: sqlite3_bind_null(statement, index)
        // No bytes may come without an address, which SQLite takes for NULL.
        case .text(let bytes) where bytes.isEmpty: sqlite3_bind_text(statement, index, "", 0, Self.copied)
        case .text(let bytes):
            let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            sqlite3_bind_text(statement, index, start, Int32(clamping: bytes.count), nil)
        case .blob(let bytes):
            sqlite3_bind_blob(statement, index, bytes.baseAddress, Int32(clamping: bytes.count), nil)
        }
    }

    // MARK: Running

    /// Goes to the next row.
    ///
    /// - Returns: false at the end.
    /// - Throws: `DatabaseError`.
    func step() throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let message = connection.map { String(cString: sqlite3_errmsg($0)) }
            sqlite3_reset(statement)
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
    }

    /// Runs a statement that gives no rows.
    ///
    /// - Returns: The number of rows it has changed.
    @discardableResult
    func run() throws -> Int32 {
        reset()
        while try step() {}
        // Before the reset, after which the connection's count is still that of this statement.
        reset()
        return sqlite3_changes(connection)
    }

    /// The number of the row that was last inserted.
    var insertedNumber: Int64 { sqlite3_last_insert_rowid(connection) }

    // MARK: Columns of the row, counted from 0

    func isNull(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_NULL }

    func isBlob(_ column: Int32) -> Bool { sqlite3_column_type(statement, column) == SQLITE_BLOB }

    func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(statement, column) }

    func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

    /// The bytes of a text or blob, valid until the next step.
    func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let start = sqlite3_column_blob(statement, column)
        return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }
}

/// Bytes that somebody else owns, as a value of SQLite.
enum RawValue {
    case text(UnsafeRawBufferPointer)
    case blob(UnsafeRawBufferPointer)
}
