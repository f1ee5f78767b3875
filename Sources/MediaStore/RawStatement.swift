import GRDB
internal import GRDBSQLite

/// A prepared statement used through SQLite's own functions, which preserve texts with zero bytes, and create no values
/// for columns that are never read. Used within one access to the database, by its thread.
///
/// For statements that run for every photo or upload: GRDB's values and arguments take longer than SQLite itself.
struct RawStatement {
    private let statement: OpaquePointer
    private let connection: OpaquePointer?
    /// Keeps `statement` from being finalized.
    private let owner: Statement

    init(_ db: Database, _ sql: String) throws {
        owner = try db.cachedStatement(sql: sql)
        statement = owner.sqliteStatement
        connection = db.sqliteConnection
    }

    // MARK: Running

    /// Runs it, and calls `body` at each row. Values beyond the last parameter are ignored.
    func map<Value>(_ values: [RawValue], _ body: (RawStatement) -> Value) throws -> [Value] {
        sqlite3_reset(statement)
        // Bound values must stay valid until the rows are read.
        defer { sqlite3_clear_bindings(statement) }
        return try binding(values[..<min(values.count, Int(sqlite3_bind_parameter_count(statement)))]) {
            var results: [Value] = []
            while try step() { results.append(body(self)) }
            return results
        }
    }

    /// Runs a statement that returns no rows, and returns the number of changed rows.
    @discardableResult
    func run(_ values: [RawValue]) throws -> Int32 {
        _ = try map(values) { _ in }
        return sqlite3_changes(connection)
    }

    /// Binds the values without copies, each inside the access to the one before.
    private func binding<Result>(_ values: ArraySlice<RawValue>, _ body: () throws -> Result) throws -> Result {
        guard let value = values.first else { return try body() }
        let index = Int32(values.startIndex + 1)
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .text(var text):
            return try text.withUTF8 { bytes in
                let start = UnsafeRawPointer(bytes.baseAddress)?.assumingMemoryBound(to: CChar.self)
                if let start {
                    sqlite3_bind_text(statement, index, start, Int32(clamping: bytes.count), nil)
                } else {
                    // Without an address the value would be null.
                    sqlite3_bind_text(statement, index, "", 0, nil)
                }
                return try binding(values.dropFirst(), body)
            }
        case .blob(let bytes):
            return try bytes.withUnsafeBytes { bytes in
                sqlite3_bind_blob(statement, index, bytes.baseAddress, Int32(clamping: bytes.count), nil)
                return try binding(values.dropFirst(), body)
            }
        }
        return try binding(values.dropFirst(), body)
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
}
