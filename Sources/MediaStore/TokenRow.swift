import Foundation
import GRDB

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
        let other = try db.cachedStatement(sql: "SELECT 1 FROM tokens WHERE \(hasKey) LIMIT 1")
        let hasOther = try Row.fetchOne(other, arguments: StatementArguments(key(entry))) != nil
        guard try upsert(entry, db) else { return .known }
        return hasOther ? .conflicting : .added
    }

    /// Stores an entry unless its token is here already, and makes the newest row of its key the primary one.
    ///
    /// - Returns: Whether a row was added.
    @discardableResult
    static func upsert(_ entry: TokenEntry, _ db: Database) throws -> Bool {
        let known = try db.cachedStatement(sql: "SELECT 1 FROM tokens WHERE \(hasKey) AND token = ?4")
        if try Row.fetchOne(known, arguments: StatementArguments(key(entry) + [entry.token.secret])) != nil {
            return false
        }
        try db.cachedStatement(sql: "INSERT INTO tokens (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
            .execute(arguments: [
                entry.host, entry.fileID, entry.token.secret, entry.createdAt.milliseconds, entry.eventDate,
                entry.orgName, entry.eventType, entry.label, entry.fileName, entry.fileType, entry.checksumSHA256,
                entry.sizeBytes, entry.baseURL,
            ])
        try db.cachedStatement(
            sql: """
                UPDATE tokens SET superseded = (row_id <> (
                    SELECT row_id FROM tokens WHERE \(hasKey) ORDER BY created_at DESC, row_id DESC LIMIT 1))
                WHERE \(hasKey)
                """
        ).execute(arguments: StatementArguments(key(entry)))
        return true
    }

    static func bury(_ entry: TokenEntry, _ db: Database) throws {
        let arguments = StatementArguments(key(entry) + [entry.createdAt.milliseconds])
        try db.execute(sql: "DELETE FROM tokens WHERE \(hasKey) AND created_at <= ?4", arguments: arguments)
        try db.execute(
            sql: "DELETE FROM stored_files WHERE \(hasKey)",
            arguments: StatementArguments(key(entry))
        )
        try db.execute(
            sql: """
                INSERT INTO tombstones (host, file_id, checksum_sha256, created_at) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT DO UPDATE SET created_at = max(created_at, excluded.created_at)
                """,
            arguments: arguments
        )
    }

    static func removeTombstone(of entry: TokenEntry, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM tombstones WHERE \(hasKey)")
            .execute(arguments: StatementArguments(key(entry)))
    }

    /// Whether this entry, or a newer one of its key, was removed. An export by another program may keep
    /// whole seconds only.
    static func isBuried(_ entry: TokenEntry, _ db: Database) throws -> Bool {
        let tombstone = try db.cachedStatement(sql: "SELECT created_at FROM tombstones WHERE \(hasKey)")
        let removedAt = try Int64.fetchOne(tombstone, arguments: StatementArguments(key(entry)))
        guard let removedAt else { return false }
        return entry.createdAt.milliseconds < removedAt + 1000
    }

    static func fetch(
        _ db: Database,
        where condition: String,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws -> [TokenEntry] {
        let rows = try Row.fetchCursor(
            db,
            sql: """
                SELECT row_id, \(columns), superseded FROM tokens
                WHERE \(condition) ORDER BY created_at DESC, row_id DESC
                """,
            arguments: StatementArguments(arguments)
        )
        var entries: [TokenEntry] = []
        while let row = try rows.next() { entries.append(try entry(row)) }
        return entries
    }

    private static func entry(_ row: Row) throws -> TokenEntry {
        guard let token = DeleteToken(row[3]) else {
            throw StoreError(.corrupt, path: "tokens.sqlite", detail: "row \(row[0] as Int64) has no usable token")
        }
        return TokenEntry(
            rowID: row[0],
            host: row[1],
            fileID: row[2],
            token: token,
            createdAt: Date(milliseconds: row[4]),
            eventDate: row[5],
            orgName: row[6],
            eventType: row[7],
            label: row[8],
            fileName: row[9],
            fileType: row[10],
            checksumSHA256: row[11],
            sizeBytes: row[12],
            baseURL: row[13],
            isSuperseded: row[14]
        )
    }
}
