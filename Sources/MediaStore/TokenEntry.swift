public import Foundation
import GRDB
internal import MediaCore

/// A one-time delete token: 64 lowercase hexadecimal characters (gighive contract, section 0). Its description never
/// shows it.
public struct DeleteToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The secret. For the wire, the store and `--show-token` only.
    public let secret: String

    /// Accepts any non-empty token without spaces or control characters: a server may change the format of its tokens,
    /// and a token with an unusual format must not be lost.
    ///
    /// - Returns: nil for an empty text, and for one longer than 512 bytes or with spaces or control characters.
    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= 512, Self.isPrintable(text) else { return nil }
        secret = text
    }

    /// Without an early exit, many bytes are compared at once.
    private static func isPrintable(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            var others: UInt8 = 0
            for byte in bytes { others |= byte <= 0x20 || byte == 0x7f ? 1 : 0 }
            return others == 0
        }
    }

    /// Whether the token has the format defined in the contract.
    public var isWellFormed: Bool {
        SHA256Text.isLowerCase(secret)
    }

    /// Redacted.
    public var description: String { "delete token ***" }
    /// Redacted.
    public var debugDescription: String { description }
}

/// A file on a server, and its delete token.
public struct TokenEntry: Sendable, Equatable {
    /// The row number; nil before it is stored.
    public var rowID: Int64?
    /// The scope: host in lower case, with the port if it is not the scheme's default.
    public var host: String
    /// The server's `id`.
    public var fileID: Int64
    public var token: DeleteToken
    /// When the response arrived.
    public var createdAt: Date
    /// `YYYY-MM-DD`.
    public var eventDate: String
    /// The event's organization.
    public var orgName: String
    /// `band`, `wedding`, …
    public var eventType: String
    /// The title; nil if the server has none.
    public var label: String?
    /// The local file's name, or the name on the server if that is unknown.
    public var fileName: String
    /// `audio` or `video`.
    public var fileType: String
    /// 64 lowercase hexadecimal characters; empty if the response had none.
    public var checksumSHA256: String
    /// Length in bytes; 0 if it is unknown, because no file is empty.
    public var sizeBytes: Int64
    /// The server's address.
    public var baseURL: String
    /// Whether a newer row for the same host, ID and checksum replaces this one.
    public var isSuperseded: Bool

    public init(
        rowID: Int64? = nil,
        host: String,
        fileID: Int64,
        token: DeleteToken,
        createdAt: Date,
        eventDate: String,
        orgName: String,
        eventType: String,
        label: String?,
        fileName: String,
        fileType: String,
        checksumSHA256: String,
        sizeBytes: Int64,
        baseURL: String,
        isSuperseded: Bool = false
    ) {
        self.rowID = rowID
        self.host = host
        self.fileID = fileID
        self.token = token
        self.createdAt = createdAt
        self.eventDate = eventDate
        self.orgName = orgName
        self.eventType = eventType
        self.label = label
        self.fileName = fileName
        self.fileType = fileType
        self.checksumSHA256 = checksumSHA256
        self.sizeBytes = sizeBytes
        self.baseURL = baseURL
        self.isSuperseded = isSuperseded
    }
}

/// The remainder of a removed entry: its key, without the token. A row of the table `tombstones`.
struct Tombstone: Sendable, Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "tombstones"

    private enum CodingKeys: String, CodingKey {
        case host
        case fileID = "file_id"
        case checksumSHA256 = "checksum_sha256"
        case createdAt = "created_at"
    }

    var host: String
    var fileID: Int64
    var checksumSHA256: String
    /// When the entry was created, in milliseconds since 1970.
    var createdAt: Int64
}

extension Tombstone {
    init(_ entry: TokenEntry) {
        host = entry.host
        fileID = entry.fileID
        checksumSHA256 = entry.checksumSHA256
        createdAt = entry.createdAt.milliseconds
    }
}

/// Rows of the tables `tokens` and `tombstones`.
enum TokenRow {
    private static let columns = """
        host, file_id, token, created_at, event_date, org_name, event_type, label, file_name, file_type, \
        checksum_sha256, size_bytes, base_url
        """
    private static let hasKey = "host = ?1 AND file_id = ?2 AND checksum_sha256 = ?3"

    private static func key(_ entry: TokenEntry) -> [(any DatabaseValueConvertible)?] {
        [entry.host, entry.fileID, entry.checksumSHA256]
    }

    static func add(_ entry: TokenEntry, _ db: Database) throws -> AddOutcome {
        guard try !isBuried(entry, db) else { return .buried }
        let hasOther = try hasKey(of: entry, db)
        guard try upsert(entry, db) else { return .known }
        return hasOther ? .conflicting : .added
    }

    static func hasKey(of entry: TokenEntry, _ db: Database) throws -> Bool {
        let statement = try db.cachedStatement(sql: "SELECT 1 FROM tokens WHERE \(hasKey) LIMIT 1")
        return try Row.fetchOne(statement, arguments: StatementArguments(key(entry))) != nil
    }

    /// Stores an entry unless its token is already stored, and makes the newest row of its key the primary one. Returns
    /// whether a row was added. An entry keeps its former row number unless another row has that number: if two entries
    /// have the same time, the one with the higher number is primary.
    @discardableResult
    static func upsert(_ entry: TokenEntry, _ db: Database, keepingRowID isRowIDKept: Bool = false) throws -> Bool {
        let key: [RawValue] = [.text(entry.host), .integer(entry.fileID), .text(entry.checksumSHA256)]
        let others = try RawStatement(db, isSame).map(key + [.text(entry.token.secret)]) { $0.integer(0) != 0 }
        guard !others.contains(true) else { return false }
        try RawStatement(db, insertion).run([
            isRowIDKept ? RawValue(entry.rowID) : .null, .text(entry.host), .integer(entry.fileID),
            .text(entry.token.secret), .integer(entry.createdAt.milliseconds), RawValue(entry.eventDate),
            RawValue(entry.orgName), RawValue(entry.eventType), RawValue(entry.label), RawValue(entry.fileName),
            RawValue(entry.fileType), RawValue(entry.checksumSHA256), RawValue(entry.sizeBytes),
            RawValue(entry.baseURL),
        ])
        // As the only row of its key, it is the primary one.
        guard !others.isEmpty else { return true }
        try db.cachedStatement(
            sql: """
                UPDATE tokens SET superseded = (row_id <> (
                    SELECT row_id FROM tokens WHERE \(hasKey) ORDER BY created_at DESC, row_id DESC LIMIT 1))
                WHERE \(hasKey)
                """
        ).execute(arguments: StatementArguments(Self.key(entry)))
        return true
    }

    private static let isSame = "SELECT token = ?4 FROM tokens WHERE \(hasKey)"
    /// A row without a number gets the next one.
    private static let insertion = """
        INSERT INTO tokens (row_id, \(columns)) VALUES (
            iif(EXISTS (SELECT 1 FROM tokens WHERE row_id = ?1), NULL, ?1), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    private static let tombstoneRemoval = "DELETE FROM tombstones WHERE \(hasKey)"

    static func bury(_ stone: Tombstone, _ db: Database) throws {
        let key: [(any DatabaseValueConvertible)?] = [stone.host, stone.fileID, stone.checksumSHA256]
        let arguments = StatementArguments(key + [stone.createdAt])
        try db.cachedStatement(sql: "DELETE FROM tokens WHERE \(hasKey) AND created_at <= ?4")
            .execute(arguments: arguments)
        try db.cachedStatement(sql: "DELETE FROM stored_files WHERE \(hasKey)")
            .execute(arguments: StatementArguments(key))
        try db.cachedStatement(
            sql: """
                INSERT INTO tombstones (host, file_id, checksum_sha256, created_at) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT DO UPDATE SET created_at = max(created_at, excluded.created_at)
                """
        ).execute(arguments: arguments)
    }

    static func removeTombstone(of entry: TokenEntry, _ db: Database) throws {
        try RawStatement(db, tombstoneRemoval).run([
            .text(entry.host), .integer(entry.fileID), .text(entry.checksumSHA256),
        ])
    }

    /// Whether this entry, or a newer one of its key, was removed. An export by another program may contain only whole
    /// seconds.
    static func isBuried(_ entry: TokenEntry, _ db: Database) throws -> Bool {
        let tombstone = try db.cachedStatement(sql: "SELECT created_at FROM tombstones WHERE \(hasKey)")
        let removedAt = try Int64.fetchOne(tombstone, arguments: StatementArguments(key(entry)))
        guard let removedAt else { return false }
        return entry.createdAt.milliseconds < removedAt + 1000
    }

    /// The number of tokens in another database that are missing from this one but were not removed from it, as
    /// determined by `isBuried`.
    static func missing(from db: Database, of other: Database) throws -> Int {
        let known = try RawStatement(
            db,
            """
            SELECT EXISTS (SELECT 1 FROM tokens WHERE \(hasKey) AND token = ?4)
                OR EXISTS (SELECT 1 FROM tombstones WHERE \(hasKey) AND created_at + 1000 > ?5)
            """
        )
        let statement = try other.makeStatement(
            sql: "SELECT host, file_id, checksum_sha256, token, created_at FROM tokens"
        )
        let rows = try Row.fetchCursor(statement)
        let columns = RawStatement(other, statement)
        var count = 0
        while try rows.next() != nil {
            let values: [RawValue] = [
                .text(columns.text(0)), .integer(columns.integer(1)), .text(columns.text(2)), .text(columns.text(3)),
                .integer(columns.integer(4)),
            ]
            if try known.map(values, { $0.integer(0) != 0 }) != [true] { count += 1 }
        }
        return count
    }

    static func fetch(
        _ db: Database,
        from source: String = "tokens",
        where condition: String,
        order: String = "created_at DESC, row_id DESC",
        limit: Int? = nil,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws -> [TokenEntry] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT row_id, \(columns), superseded FROM \(source)
                WHERE \(condition) ORDER BY \(order)\(limit.map { " LIMIT \($0)" } ?? "")
                """
        )
        let rows = try Row.fetchCursor(statement, arguments: StatementArguments(arguments))
        let columns = RawStatement(db, statement)
        var entries: [TokenEntry] = []
        entries.reserveCapacity(limit ?? 0)
        while try rows.next() != nil { entries.append(try entry(columns)) }
        return entries
    }

    /// Each host once, in order. Looks up one row per host: `DISTINCT` would read the whole index.
    static func hosts(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                WITH RECURSIVE hosts (host) AS (
                    SELECT min(host) FROM tokens
                    UNION ALL
                    SELECT (SELECT min(host) FROM tokens WHERE tokens.host > hosts.host) FROM hosts
                    WHERE hosts.host IS NOT NULL
                )
                SELECT host FROM hosts WHERE host IS NOT NULL
                """
        )
    }

    /// Uses SQLite's own functions, since a list may have ten thousand rows.
    private static func entry(_ row: RawStatement) throws -> TokenEntry {
        guard let token = DeleteToken(row.text(3)) else {
            throw StoreError(.corrupt, path: "tokens.sqlite", detail: "row \(row.integer(0)) has no usable token")
        }
        return TokenEntry(
            rowID: row.integer(0),
            host: row.text(1),
            fileID: row.integer(2),
            token: token,
            createdAt: Date(milliseconds: row.integer(4)),
            eventDate: row.text(5),
            orgName: row.text(6),
            eventType: row.text(7),
            label: row.optionalText(8),
            fileName: row.text(9),
            fileType: row.text(10),
            checksumSHA256: row.text(11),
            sizeBytes: row.integer(12),
            baseURL: row.text(13),
            isSuperseded: row.integer(14) != 0
        )
    }
}
