import GRDB
internal import GRDBSQLite

/// Stores the photos of one page of a run, within one transaction and by its thread.
final class PhotoWriter {
    /// What a page has brought.
    struct Outcome {
        /// Photos that the run had not seen before.
        var seen: Int64 = 0
        var added: Int64 = 0
        var changed: Int64 = 0
        /// The latest `uploadedAt` up to the horizon.
        var latest: PhotoTime?
    }

    /// A photo of the index.
    private struct Known {
        let number: Int64
        let origin: Int64
        let isGone: Bool
        /// Whether it is told as before, but for its origin.
        let isSame: Bool

        init(_ row: RawStatement) {
            number = row.integer(0)
            origin = row.integer(1)
            isGone = row.integer(2) != 0
            isSame = row.integer(3) != 0
        }
    }

    private(set) var outcome = Outcome()
    private let server: Int64
    private let horizon: Int64
    private var origins: OriginTable
    private var seen: SeenPhotos
    private let findByUpload: RawStatement
    private let findByID: RawStatement?
    private let insert: RawStatement
    private let update: RawStatement
    private let move: RawStatement
    /// Photos that are known follow each other, and so do new ones: it is tried first what was true of the last one.
    private var expectsKnown = true

    /// `hasIDs` says whether the index over ids is there. Without it a photo whose `uploadedAt` has changed is stored
    /// twice, until `PhotoIndexes.finishIDs`.
    init(_ db: Database, server: Int64, horizon: Int64, hasIDs: Bool) throws {
        self.server = server
        self.horizon = horizon
        origins = try OriginTable(db, server: server)
        seen = try SeenPhotos(db, server: server)
        findByUpload = try RawStatement(db, PhotoSQL.findByUpload)
        findByID = hasIDs ? try RawStatement(db, PhotoSQL.findByID) : nil
        insert = try RawStatement(db, PhotoSQL.insert)
        update = try RawStatement(db, PhotoSQL.update)
        move = try RawStatement(db, PhotoSQL.move)
    }

    /// Stores a page. To be called once.
    func store(_ page: EncodedPhotos) throws {
        defer {
            // What is bound is gone by then.
            for statement in [findByUpload, findByID, insert, update, move] { statement?.clear() }
        }
        var latest: Int?
        // A span lends its photos: a copy of one counts the references to each of its texts.
        let span = page.photos.span
        try page.forEach { place, values in
            let origin = try origins.number(of: span[place].originDevice)
            let numbers = PhotoSQL.Numbers(span[place], server: server, origin: origin)
            try store(PhotoSQL.Values(bytes: values, numbers: numbers))
            let uploadedAt = span[place].uploadedAt.microseconds
            if uploadedAt <= horizon, latest.map({ uploadedAt > span[$0].uploadedAt.microseconds }) ?? true {
                latest = place
            }
        }
        outcome.latest = latest.map { page.photos[$0].uploadedAt }
        try seen.save()
        try origins.save()
    }

    private func store(_ values: PhotoSQL.Values) throws {
        if findByID == nil, !expectsKnown, try add(values) { return }
        if let known = try find(values, findByUpload) {
            try note(known, values, with: update)
        } else if let findByID, let known = try find(values, findByID) {
            try note(known, values, with: move)
        } else {
            _ = try add(values)
        }
    }

    /// - Returns: false when it is known.
    private func add(_ values: PhotoSQL.Values) throws -> Bool {
        values.bind(to: insert, .insert)
        guard try insert.run() == 1 else { return false }
        expectsKnown = false
        outcome.added += 1
        origins.add(present: 1, to: values.numbers.origin)
        if try seen.insert(insert.insertedNumber) { outcome.seen += 1 }
        return true
    }

    private func find(_ values: PhotoSQL.Values, _ statement: RawStatement) throws -> Known? {
        statement.reset()
        values.bind(to: statement, .find)
        defer { statement.reset() }
        return try statement.step() ? Known(statement) : nil
    }

    private func note(_ known: Known, _ values: PhotoSQL.Values, with statement: RawStatement) throws {
        expectsKnown = true
        let isNew = try seen.insert(known.number)
        if isNew { outcome.seen += 1 }
        guard !known.isSame || known.isGone || known.origin != values.numbers.origin else { return }
        if isNew { outcome.changed += 1 }
        origins.add(present: known.isGone ? 0 : -1, gone: known.isGone ? -1 : 0, to: known.origin)
        origins.add(present: 1, to: values.numbers.origin)
        values.bind(to: statement, .update)
        statement.bind(known.number, at: PhotoSQL.numberParameter)
        try statement.run()
    }
}

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

    /// Goes to the next row; false at the end.
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

    /// Runs a statement that gives no rows, and returns how many it has changed.
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

/// The table `origins` of a server: the devices that photos came from, and how many came from each, within one
/// transaction.
struct OriginTable {
    private struct Change {
        var present: Int64 = 0
        var gone: Int64 = 0

        mutating func add(_ present: Int64, _ gone: Int64) {
            self.present += present
            self.gone += gone
        }
    }

    private let db: Database
    private let server: Int64
    /// The origins in hand: most photos come from few devices, whose texts a page shares.
    private var recentDevices: [PhotoDevice?] = []
    private var recentNumbers: [Int64] = []
    private static let recentCount = 8
    private var numbers: [PhotoDevice?: Int64] = [:]
    private var changes: [Int64: Change] = [:]

    init(_ db: Database, server: Int64) throws {
        self.db = db
        self.server = server
    }

    /// The number of a device, or that of legacy photos. A device that has been renamed gets its new name.
    mutating func number(of device: PhotoDevice?) throws -> Int64 {
        if let place = recentDevices.firstIndex(of: device) { return recentNumbers[place] }
        let number = try numbers[device] ?? find(device)
        numbers[device] = number
        if recentDevices.count == Self.recentCount {
            recentDevices.removeFirst()
            recentNumbers.removeFirst()
        }
        recentDevices.append(device)
        recentNumbers.append(number)
        return number
    }

    private func find(_ device: PhotoDevice?) throws -> Int64 {
        let select = try db.cachedStatement(
            sql: """
                SELECT number, name IS ?3 AND platform IS ?4 AS is_same FROM origins
                WHERE server = ?1 AND device_id IS ?2
                """
        )
        let arguments: StatementArguments = [server, device?.id, device?.name, device?.platform]
        guard let row = try Row.fetchOne(select, arguments: arguments) else {
            let insert = "INSERT INTO origins (server, device_id, name, platform) VALUES (?, ?, ?, ?)"
            try db.cachedStatement(sql: insert).execute(arguments: arguments)
            return db.lastInsertedRowID
        }
        let (number, isSame): (Int64, Bool) = (row["number"], row["is_same"])
        if !isSame {
            try db.cachedStatement(sql: "UPDATE origins SET name = ?, platform = ? WHERE number = ?")
                .execute(arguments: [device?.name, device?.platform, number])
        }
        return number
    }

    mutating func add(present: Int64, gone: Int64 = 0, to number: Int64) {
        changes[number, default: Change()].add(present, gone)
    }

    /// Writes the counts that have changed.
    mutating func save() throws {
        let update = try db.cachedStatement(
            sql: "UPDATE origins SET present = present + ?, gone = gone + ? WHERE number = ?"
        )
        for (number, change) in changes where change.present != 0 || change.gone != 0 {
            try update.execute(arguments: [change.present, change.gone, number])
        }
        changes = [:]
    }

    /// Photos of the server that are not gone.
    static func presentCount(ofServer server: Int64, _ db: Database) throws -> Int64 {
        let statement = try db.cachedStatement(sql: "SELECT ifnull(sum(present), 0) FROM origins WHERE server = ?")
        return try Int64.fetchOne(statement, arguments: [server]) ?? 0
    }
}
