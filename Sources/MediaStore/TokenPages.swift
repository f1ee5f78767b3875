import Foundation
import GRDB

/// Token entries in order, a page at a time, so that a million of them need no more memory than a thousand.
///
/// Each page is read in a transaction of its own: a reader that is slow to print keeps nobody from emptying the log. Entries
/// that are added or removed meanwhile may be missed.
package struct TokenPages {
    /// Which entries come first.
    package enum Order: Sendable {
        case newestFirst
        case oldestFirst
    }

    /// One page.
    package struct Page: Sendable {
        /// In order, at least one.
        package var entries: [TokenEntry]
        /// The details of these files from their servers; the first event of a file comes first.
        package var files: [StoredFile]
    }

    private static let pageSize = 1000

    private let store: TokenStore
    private let host: String?
    private let includesSuperseded: Bool
    private let includesFiles: Bool
    private let order: Order
    private var last: (createdAt: Int64, rowID: Int64)?
    private var isAtEnd = false

    /// Describes a selection; nothing is read yet.
    ///
    /// - Parameters:
    ///   - store: Where the entries are.
    ///   - host: Of which host; nil for all.
    ///   - includesSuperseded: Whether entries that a newer one replaces are included.
    ///   - includesFiles: Whether pages have the details of the files.
    ///   - order: Which entries come first.
    package init(
        of store: TokenStore,
        host: String?,
        includesSuperseded: Bool = false,
        includesFiles: Bool = false,
        order: Order = .newestFirst
    ) {
        self.store = store
        self.host = host
        self.includesSuperseded = includesSuperseded
        self.includesFiles = includesFiles
        self.order = order
    }

    /// The next page; nil after the last.
    ///
    /// - Throws: `StoreError`.
    package mutating func next() throws(StoreError) -> Page? {
        guard !isAtEnd else { return nil }
        let arguments: [(any DatabaseValueConvertible)?] = [host, last?.createdAt, last?.rowID]
        let page = try store.connection.read { db in
            let entries = try TokenRow.fetch(
                db,
                from: Self.source,
                where: condition,
                order: ordering,
                limit: Self.pageSize,
                arguments
            )
            let files = try includesFiles ? StoredFileRow.fetch(db, ofTokens: keys, arguments) : []
            return Page(entries: entries, files: files)
        }
        isAtEnd = page.entries.count < Self.pageSize
        guard let last = page.entries.last, let rowID = last.rowID else { return nil }
        self.last = (last.createdAt.milliseconds, rowID)
        return page
    }

    /// The index that has the order of time; for one host as well, because sorting its entries would need memory for all.
    static let source = "tokens INDEXED BY tokens_by_time"

    private var keys: String {
        """
        SELECT host, file_id, checksum_sha256 FROM \(Self.source)
        WHERE \(condition) ORDER BY \(ordering) LIMIT \(Self.pageSize)
        """
    }

    private var condition: String {
        let after = order == .newestFirst ? "<" : ">"
        return "(?1 IS NULL OR host = ?1)" + (includesSuperseded ? "" : " AND superseded = 0")
            + (last == nil ? " AND ?2 IS NULL AND ?3 IS NULL" : " AND (created_at, row_id) \(after) (?2, ?3)")
    }

    private var ordering: String {
        order == .newestFirst ? "created_at DESC, row_id DESC" : "created_at, row_id"
    }
}
