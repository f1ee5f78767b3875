import Foundation
import GRDB

extension TokenStore {
    /// Stores what a success answered, in one transaction: the upload's new state and, when there are such, the token
    /// and what a guest got.
    /// A row of the same host, id and checksum is superseded; a missing token never overwrites one. Storing the same
    /// token again, as after adopting a rescue file, changes nothing.
    ///
    /// A token or receipt is stored even when the journal has lost its upload. Calls of several tasks share one commit (group
    /// commit). Cancelling the task does not stop it.
    ///
    /// - Throws: `StoreError`, only for this call's own rows; `.other` when there is neither a token nor a receipt nor such
    ///   an upload.
    public func commit(
        _ uploadID: String,
        _ change: UploadChange,
        token: TokenEntry?,
        guest: GuestReceipt? = nil
    ) async throws(StoreError) {
        let path = connection.path
        try await commits.commit { db in
            let isKnown = try UploadRow.update(uploadID, change, db)
            if let token {
                try TokenRow.upsert(token, db)
                try TokenRow.removeTombstone(of: token, db)
            }
            if let guest { try GuestRow.upsert(guest, of: uploadID, db) }
            guard isKnown || token != nil || guest != nil else { throw UploadRow.missing(uploadID, path) }
        }
    }

    /// Adds an entry that did not come from an upload of this journal (an import). A tombstone keeps a removed entry
    /// from coming back; an entry that is newer than the removed one is another and comes in.
    ///
    /// - Returns: false when a tombstone or an equal row stood in the way.
    public func add(_ entry: TokenEntry) throws(StoreError) -> Bool {
        let outcome = try connection.write { try TokenRow.add(entry, $0) }
        return outcome == .added || outcome == .conflicting
    }

    /// Adds many entries as `add(_:)` does, all or none.
    ///
    /// - Parameters:
    ///   - entries: What is imported.
    ///   - isDryRun: Whether to change nothing, and only say what would happen.
    /// - Returns: What became of each entry, in their order.
    /// - Throws: `StoreError`.
    public func add(_ entries: [TokenEntry], isDryRun: Bool = false) throws(StoreError) -> [AddOutcome] {
        try connection.write { db in
            var outcomes: [AddOutcome] = []
            // Done for real also in a dry run: entries may meet each other.
            try db.inSavepoint {
                outcomes = try entries.map { try TokenRow.add($0, db) }
                return isDryRun ? .rollback : .commit
            }
            return outcomes
        }
    }

    /// Entries, newest first, without superseded ones unless asked for.
    public func tokens(host: String?, includeSuperseded: Bool = false) throws(StoreError) -> [TokenEntry] {
        let primary = includeSuperseded ? "" : " AND superseded = 0"
        return try connection.read { db in
            try TokenRow.fetch(db, where: "(?1 IS NULL OR host = ?1)\(primary)", [host])
        }
    }

    /// All rows, superseded ones included, for an id on a host; newest first.
    public func tokens(host: String, fileID: Int64) throws(StoreError) -> [TokenEntry] {
        try connection.read { try TokenRow.fetch($0, where: "host = ? AND file_id = ?", [host, fileID]) }
    }

    /// All rows for a checksum on a host; newest first.
    public func tokens(host: String, checksumSHA256: String) throws(StoreError) -> [TokenEntry] {
        try connection.read {
            try TokenRow.fetch($0, where: "host = ? AND checksum_sha256 = ?", [host, checksumSHA256])
        }
    }

    /// Removes an entry and its superseded rows (same host, id and checksum), leaving a tombstone without the token.
    /// A row that is newer than the entry, stored by another process meanwhile, stays.
    public func remove(_ entry: TokenEntry) throws(StoreError) {
        try connection.write { try TokenRow.bury(entry, $0) }
    }
}

/// What became of an entry that was to be added.
public enum AddOutcome: Sendable, Equatable {
    /// Nothing was known of its file.
    case added
    /// It was added beside another token of the same host, id and checksum; the newer one is primary.
    case conflicting
    /// Its token was here already.
    case known
    /// It was removed here, or one newer than it, and stays removed.
    case buried
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
