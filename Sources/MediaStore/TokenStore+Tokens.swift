import Foundation
import GRDB

extension TokenStore {
    /// Stores a success response in one transaction: the upload's new state and, if present, the token, the guest
    /// receipt and the details of the stored file. A row with the same host, ID and checksum is superseded; a missing
    /// token never overwrites an existing one. Storing the same token again, as after adopting a rescue file, changes
    /// nothing.
    ///
    /// A token or receipt is stored even if the journal has lost its upload. Calls from several tasks share one commit
    /// (group commit); a call that is not urgent waits for others, at most 2 ms. Canceling the task does not stop it.
    ///
    /// - Throws: `StoreError`, only for this call's own rows; `.other` if there is neither a token nor a receipt
    ///   nor such an upload.
    public func commit(
        _ uploadID: String,
        _ change: UploadChange,
        token: TokenEntry?,
        guest: GuestReceipt? = nil,
        stored: StoredFile? = nil,
        isUrgent: Bool = true
    ) async throws(StoreError) {
        let (path, now) = (connection.path, now())
        try await commits.commit(isUrgent: isUrgent) { db in
            let isKnown = try UploadRow.update(uploadID, change, at: now, db)
            if let token {
                try TokenRow.upsert(token, db)
                try TokenRow.removeTombstone(of: token, db)
            }
            if let guest { try GuestRow.upsert(guest, of: uploadID, db) }
            if let stored { try StoredFileRow.upsert(stored, at: now, db) }
            guard isKnown || token != nil || guest != nil else { throw UploadRow.missing(uploadID, path) }
        }
    }

    /// Adds entries that did not come from an upload in this journal (an import), all or none, with the details of the
    /// files from their server; a dry run changes nothing. A removed entry is not added again, since it has a
    /// tombstone; an entry that is newer than the removed one is added. Returns the outcome for each entry, in order.
    public func add(
        _ entries: [TokenEntry],
        isDryRun: Bool = false,
        stored: [StoredFile] = []
    ) throws(StoreError) -> [AddOutcome] {
        try connection.write { db in
            var outcomes: [AddOutcome] = []
            // Also performed in a dry run, because the entries may affect each other.
            try db.inSavepoint {
                outcomes = try entries.map { try TokenRow.add($0, db) }
                for file in stored { try StoredFileRow.upsert(file, at: now(), db) }
                return isDryRun ? .rollback : .commit
            }
            return outcomes
        }
    }

    /// Like `add`, but holds only one page of entries in memory. `nextPage` returns nil after the last, and is called
    /// while the store is locked for other writers; if it throws, nothing is stored.
    package func addPages(isDryRun: Bool = false, _ nextPage: () throws -> [TokenEntry]?) throws -> [AddOutcome: Int] {
        var pageError: (any Error)?
        do throws(StoreError) {
            return try connection.write { db in
                var counts: [AddOutcome: Int] = [:]
                try db.inSavepoint {
                    do {
                        while let entries = try nextPage() {
                            for entry in entries { counts[try TokenRow.add(entry, db), default: 0] += 1 }
                        }
                    } catch {
                        pageError = error is DatabaseError ? nil : error
                        throw error
                    }
                    return isDryRun ? .rollback : .commit
                }
                return counts
            }
        } catch {
            throw pageError ?? error
        }
    }

    /// Entries, newest first, without superseded ones unless requested.
    public func tokens(host: String?, includeSuperseded: Bool = false) throws(StoreError) -> [TokenEntry] {
        let primary = includeSuperseded ? "" : " AND superseded = 0"
        return try connection.read { db in
            try TokenRow.fetch(db, where: "(?1 IS NULL OR host = ?1)\(primary)", [host])
        }
    }

    /// All rows, superseded ones included, for an ID on a host; newest first.
    public func tokens(host: String, fileID: Int64) throws(StoreError) -> [TokenEntry] {
        try tokens(fileID: fileID, host: host, includeSuperseded: true)
    }

    /// Whether a different file on the host has the token. Reads all rows of the host.
    package func hasToken(_ token: DeleteToken, host: String, ofOtherThan fileID: Int64?) throws(StoreError) -> Bool {
        try connection.read { db in
            let sql = "SELECT 1 FROM tokens WHERE host = ? AND token = ? AND file_id IS NOT ? LIMIT 1"
            return try Row.fetchOne(db, sql: sql, arguments: [host, token.secret, fileID]) != nil
        }
    }

    /// All rows for a checksum on a host; newest first.
    public func tokens(host: String, checksumSHA256: String) throws(StoreError) -> [TokenEntry] {
        try connection.read {
            try TokenRow.fetch($0, where: "host = ? AND checksum_sha256 = ?", [host, checksumSHA256])
        }
    }

    /// The rows for an ID, on one host or on all; superseded ones only if requested, newest first.
    package func tokens(
        fileID: Int64,
        host: String?,
        includeSuperseded: Bool = false
    ) throws(StoreError) -> [TokenEntry] {
        let primary = includeSuperseded ? "" : " AND superseded = 0"
        return try select(host, "file_id = ?2\(primary)", [fileID])
    }

    /// The rows for a checksum that are not superseded, on one host or on all; newest first.
    package func tokens(checksumSHA256: String, host: String?) throws(StoreError) -> [TokenEntry] {
        try select(host, "checksum_sha256 = ?2 AND superseded = 0", [checksumSHA256])
    }

    /// Looks hosts up one by one: both indexes begin with the host.
    private func select(
        _ host: String?,
        _ condition: String,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws(StoreError) -> [TokenEntry] {
        let entries = try connection.read { db in
            try (host.map { [$0] } ?? TokenRow.hosts(db)).flatMap {
                try TokenRow.fetch(db, where: "host = ?1 AND \(condition)", [$0] + arguments)
            }
        }
        return entries.sorted { ($0.createdAt, $0.rowID ?? 0) > ($1.createdAt, $1.rowID ?? 0) }
    }

    /// The newest entry; nil if there is none.
    package func newestToken(host: String?) throws(StoreError) -> TokenEntry? {
        try connection.read { db in
            try TokenRow.fetch(
                db,
                from: TokenPages.source,
                where: "(?1 IS NULL OR host = ?1) AND superseded = 0",
                limit: 1,
                [host]
            ).first
        }
    }

    /// How the files of stored entries were uploaded, by row number; nothing for entries that the journal does not
    /// contain, such as imported ones.
    package func transports(of entries: [TokenEntry]) throws(StoreError) -> [Int64: UploadTransport] {
        let numbers = "[\(entries.compactMap(\.rowID).map(String.init).joined(separator: ","))]"
        // The entries come first: the uploads are found by their checksums.
        let sql = """
            SELECT page.row_id, upload.transport FROM tokens AS page CROSS JOIN uploads AS upload
            ON upload.host = page.host AND upload.checksum_sha256 = page.checksum_sha256
            WHERE page.row_id IN (SELECT value FROM json_each(?))
                AND upload.file_id = page.file_id AND upload.state = '\(UploadState.done.rawValue)'
            ORDER BY upload.created_at, upload.rowid
            """
        return try connection.read { db in
            var transports: [Int64: UploadTransport] = [:]
            let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [numbers])
            while let row = try rows.next() { transports[row[0]] = UploadTransport(rawValue: row[1]) }
            return transports
        }
    }

    /// The number of entries, superseded ones included.
    package func tokenCount(host: String?) throws(StoreError) -> Int {
        try connection.read { db in
            let condition = host == nil ? "" : " WHERE host = ?"
            let arguments: StatementArguments = host.map { [$0] } ?? []
            return try Int.fetchOne(db, sql: "SELECT count(*) FROM tokens\(condition)", arguments: arguments) ?? 0
        }
    }

    package func tokenHosts() throws(StoreError) -> [String] { try connection.read { try TokenRow.hosts($0) } }

    /// The details of one file from its server, one per event; the first event comes first.
    package func storedFiles(host: String, fileID: Int64, checksumSHA256: String) throws(StoreError) -> [StoredFile] {
        try connection.read {
            let condition = "host = ? AND file_id = ? AND checksum_sha256 = ?"
            return try StoredFileRow.fetch($0, where: condition, [host, fileID, checksumSHA256])
        }
    }
}

/// The result of adding an entry.
public enum AddOutcome: Sendable, Hashable {
    /// The entry was added; the store had no other token with its host, ID and checksum.
    case added
    /// The entry was added in addition to another token with the same host, ID and checksum; the newer one is primary.
    case conflicting
    /// The entry's token was already stored.
    case known
    /// The entry, or a newer one, was removed on this machine; it is not added.
    case buried
}

/// Token entries in order, one page at a time: a million of them need as little memory as a thousand.
///
/// Each page is read in a separate transaction: a slow reader does not prevent emptying the log. Entries that are added
/// or removed in the meantime may be missed.
package struct TokenPages {
    package enum Order: Sendable {
        case newestFirst
        case oldestFirst
    }

    /// Which details of the files, as reported by their servers, to read.
    package enum Files: Sendable {
        case none
        case all
        /// Only the details for events other than the entry's: few files are linked to several events.
        case ofOtherEvents
    }

    package struct Page: Sendable {
        package var entries: [TokenEntry]
        /// The details of these files; the first event of a file comes first.
        package var files: [StoredFile]
    }

    private static let pageSize = 1000

    private let store: TokenStore
    private let host: String?
    private let includesSuperseded: Bool
    private let files: Files
    private let order: Order
    private var last: (createdAt: Int64, rowID: Int64)?
    private var isAtEnd = false

    /// Reads nothing yet.
    package init(
        of store: TokenStore,
        host: String?,
        includesSuperseded: Bool = false,
        files: Files = .none,
        order: Order = .newestFirst
    ) {
        self.store = store
        self.host = host
        self.includesSuperseded = includesSuperseded
        self.files = files
        self.order = order
    }

    /// The next page; nil after the last.
    package mutating func next() throws(StoreError) -> Page? {
        guard !isAtEnd else { return nil }
        let arguments: [(any DatabaseValueConvertible)?] = [host, last?.createdAt, last?.rowID]
        let page = try store.connection.read { db in
            let entries = try TokenRow.fetch(
                db,
                from: source,
                where: condition,
                order: ordering,
                limit: Self.pageSize,
                arguments
            )
            guard files != .none else { return Page(entries: entries, files: []) }
            let numbers = entries.compactMap(\.rowID)
            let files = try StoredFileRow.fetch(db, ofTokens: numbers, onlyOtherEvents: files == .ofOtherEvents)
            return Page(entries: entries, files: files)
        }
        isAtEnd = page.entries.count < Self.pageSize
        guard let last = page.entries.last, let rowID = last.rowID else { return nil }
        self.last = (last.createdAt.milliseconds, rowID)
        return page
    }

    /// The index by time; also used for one host, because sorting its entries would need memory for all of them.
    static let source = "tokens INDEXED BY tokens_by_time"

    /// The entries after the last one: the others with the same time, then those with other times. With one condition
    /// for both, each page would scan all entries of that time again.
    private var source: String {
        let after = order == .newestFirst ? "<" : ">"
        return last == nil
            ? Self.source
            : """
            (SELECT * FROM \(Self.source) WHERE created_at = ?2 AND row_id \(after) ?3
                UNION ALL SELECT * FROM \(Self.source) WHERE created_at \(after) ?2)
            """
    }

    private var condition: String {
        "(?1 IS NULL OR host = ?1)" + (includesSuperseded ? "" : " AND superseded = 0")
            + (last == nil ? " AND ?2 IS NULL AND ?3 IS NULL" : "")
    }

    private var ordering: String {
        order == .newestFirst ? "created_at DESC, row_id DESC" : "created_at, row_id"
    }
}
