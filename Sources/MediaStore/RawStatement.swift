import GRDB
internal import GRDBSQLite

/// A prepared statement used through SQLite's own functions, which preserve text with zero bytes, and do not create
/// values for columns that are never read. Used within one access to the database, by its thread.
///
/// For statements that run for every photo or upload: GRDB's values and arguments take longer than SQLite itself.
struct RawStatement {
    private let statement: OpaquePointer
    private let connection: OpaquePointer?
    /// Keeps `statement` from being finalized.
    private let owner: Statement
    private let parameterCount: Int
    private let memory = BoundMemory()

    init(_ db: Database, _ sql: String) throws {
        try self.init(db, db.cachedStatement(sql: sql))
    }

    /// Gives access to the columns of the current row of a statement run by a cursor.
    init(_ db: Database, _ statement: Statement) {
        owner = statement
        self.statement = statement.sqliteStatement
        connection = db.sqliteConnection
        parameterCount = Int(sqlite3_bind_parameter_count(owner.sqliteStatement))
    }

    // MARK: Running

    /// Runs the statement, and calls `body` for each row. Values beyond the last parameter are ignored.
    func map<Value>(_ values: [RawValue], _ body: (RawStatement) -> Value) throws -> [Value] {
        sqlite3_reset(statement)
        bind(values[..<min(values.count, parameterCount)])
        // Bound values must stay valid until the rows are read.
        defer {
            sqlite3_clear_bindings(statement)
            withExtendedLifetime(memory) {}
        }
        var results: [Value] = []
        while try step() { results.append(body(self)) }
        return results
    }

    /// Runs a statement that returns no rows, and returns the number of changed rows.
    @discardableResult
    func run(_ values: [RawValue]) throws -> Int32 {
        _ = try map(values) { _ in }
        return sqlite3_changes(connection)
    }

    /// Binds copies of the values in `memory`: SQLite would allocate a copy of each.
    private func bind(_ values: ArraySlice<RawValue>) {
        memory.makeRoom(forBytes: values.reduce(0) { $0 + $1.byteCount })
        for (index, value) in zip(Int32(1)..., values) {
            switch value {
            case .null: sqlite3_bind_null(statement, index)
            case .integer(let number): sqlite3_bind_int64(statement, index, number)
            case .text(var text):
                let bytes = text.withUTF8 { memory.append(UnsafeRawBufferPointer($0)) }
                let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                sqlite3_bind_text(statement, index, start, Int32(clamping: bytes.count), nil)
            case .blob(let blob):
                let bytes = blob.withUnsafeBytes { memory.append($0) }
                sqlite3_bind_blob(statement, index, bytes.baseAddress, Int32(clamping: bytes.count), nil)
            }
        }
    }

    /// False at the end.
    private func step() throws -> Bool {
        switch sqlite3_step(statement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let message = connection.map { String(cString: sqlite3_errmsg($0)) }
            sqlite3_reset(statement)
            throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
        }
    }

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

enum RawValue: Equatable {
    case null
    case integer(Int64)
    case text(String)
    case blob([UInt8])

    init(_ number: Int?) { self = number.map { .integer(Int64($0)) } ?? .null }

    init(_ number: Int64?) { self = number.map(RawValue.integer) ?? .null }

    init(_ text: String?) { self = text.map(RawValue.text) ?? .null }

    init(_ flag: Bool) { self = .integer(flag ? 1 : 0) }

    fileprivate var byteCount: Int {
        switch self {
        case .null, .integer: 0
        case .text(let text): text.utf8.count
        case .blob(let bytes): bytes.count
        }
    }
}

/// The bytes of the values that are bound to a statement, which must not move while it runs.
private final class BoundMemory {
    // Owned by this instance, and freed with it; never nil, because SQLite treats text without an address as null.
    private var memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 256, alignment: 1)
    private var end = 0

    deinit { memory.deallocate() }

    /// Discards the bytes of the last run.
    func makeRoom(forBytes count: Int) {
        end = 0
        guard count > memory.count else { return }
        memory.deallocate()
        memory = .allocate(byteCount: count, alignment: 1)
    }

    func append(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let copy = UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + bytes.count])
        copy.copyMemory(from: bytes)
        end += bytes.count
        return UnsafeRawBufferPointer(copy)
    }
}
