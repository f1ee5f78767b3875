import Foundation
import GRDB

/// The stored details of an upload, from the response (gighive contract 2.2). The server normalizes text, so the stored
/// text may differ from the text sent (trap T27). Values that a response lacks are nil.
public struct StoredFacts: Sendable, Equatable {
    /// The event's ID on the server (`event_id`; `session_id` on older servers).
    public var eventID: Int64?
    /// Place in the event, from 1 (`position`; `seq` on older servers).
    public var position: Int64?
    /// `YYYY-MM-DD`.
    public var eventDate: String?
    /// The event's organization.
    public var orgName: String?
    /// `band`, `wedding`, …
    public var eventType: String?
    /// The title.
    public var label: String?
    /// The media type that the server keeps with the file.
    public var mimeType: String?
    /// Length in seconds; nil if the server could not determine it.
    public var durationSeconds: Int64?
    /// Comma-separated names; nil for none.
    public var participants: String?
    /// Comma-separated keywords; nil for none.
    public var keywords: String?

    public init() {}
}

/// A file on a server in one of its events.
public struct StoredFile: Sendable, Equatable {
    /// The token store's key.
    public var host: String
    /// The ID on the server.
    public var fileID: Int64
    /// 64 lowercase hexadecimal characters; empty if unknown.
    public var checksumSHA256: String
    public var facts: StoredFacts

    public init(host: String, fileID: Int64, checksumSHA256: String, facts: StoredFacts) {
        self.host = host
        self.fileID = fileID
        self.checksumSHA256 = checksumSHA256
        self.facts = facts
    }
}

/// Rows of the table `stored_files`: one for each event that a file belongs to.
enum StoredFileRow {
    private static let columns = """
        host, file_id, checksum_sha256, event_date, org_name, event_id, event_type, label, position, mime_type, \
        duration_seconds, participants, keywords
        """

    /// A newer response about the same file and event replaces the older one.
    static func upsert(_ file: StoredFile, at now: Date, _ db: Database) throws {
        try RawStatement(db, replace).run(values(of: file, createdAt: now.milliseconds))
    }

    /// Keeps an existing row of the same file and event.
    static func insert(_ file: StoredFile, createdAt: Int64, _ db: Database) throws {
        try RawStatement(db, ignore).run(values(of: file, createdAt: createdAt))
    }

    private static func values(of file: StoredFile, createdAt: Int64) -> [RawValue] {
        let facts = file.facts
        return [
            .text(file.host), .integer(file.fileID), .text(file.checksumSHA256), .text(facts.eventDate ?? ""),
            .text(facts.orgName ?? ""), RawValue(facts.eventID), RawValue(facts.eventType), RawValue(facts.label),
            RawValue(facts.position), RawValue(facts.mimeType), RawValue(facts.durationSeconds),
            RawValue(facts.participants), RawValue(facts.keywords), .integer(createdAt),
        ]
    }

    private static let replace = insertion("REPLACE")
    private static let ignore = insertion("IGNORE")

    private static func insertion(_ conflict: String) -> String {
        """
        INSERT OR \(conflict) INTO stored_files (\(columns), created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        """
    }

    /// Oldest first, so a file's first event comes first.
    static func fetch(
        _ db: Database,
        where condition: String,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws -> [StoredFile] {
        let sql = "SELECT \(columns) FROM stored_files WHERE \(condition) ORDER BY created_at, event_date, org_name"
        return try files(db.makeStatement(sql: sql), arguments)
    }

    /// The files that belong to a page of tokens, specified by row numbers and without superseded ones, and possibly
    /// the files of a few other tokens; in all events, or only in events other than the token's.
    static func fetch(_ db: Database, ofTokens numbers: [Int64], onlyOtherEvents: Bool) throws -> [StoredFile] {
        // Stores written by 0.1.0 have no such rows.
        let any = try db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM stored_files)")
        guard try Bool.fetchOne(any) ?? false else { return [] }
        guard let first = numbers.min(), let last = numbers.max() else { return [] }
        // The rows of a page are usually adjacent.
        let isRange = last - first < 2 * Int64(numbers.count)
        // The page comes first: it is small, and the files are found by their key.
        let sql = """
            SELECT \(columns.split(separator: ", ").map { "file.\($0)" }.joined(separator: ", "))
            FROM tokens AS page CROSS JOIN stored_files AS file
            ON file.host = page.host AND file.file_id = page.file_id AND file.checksum_sha256 = page.checksum_sha256
            WHERE page.row_id \(isRange ? "BETWEEN ? AND ?" : "IN (SELECT value FROM json_each(?))")
                AND page.superseded = 0
                \(onlyOtherEvents ? "AND (file.event_date, file.org_name) <> (page.event_date, page.org_name)" : "")
            ORDER BY file.created_at, file.event_date, file.org_name
            """
        guard !isRange else { return try files(db.cachedStatement(sql: sql), [first, last]) }
        // With a thousand numbers in it, the statement would take longer to compile than to run.
        return try files(db.cachedStatement(sql: sql), ["[\(numbers.map(String.init).joined(separator: ","))]"])
    }

    private static func files(
        _ statement: Statement,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws -> [StoredFile] {
        try Array(Row.fetchCursor(statement, arguments: StatementArguments(arguments)).map(file))
    }

    /// Reads columns by position: looking up the name of a column takes longer than reading it.
    private static func file(_ row: Row) -> StoredFile {
        var facts = StoredFacts()
        facts.eventDate = text(row[3])
        facts.orgName = text(row[4])
        facts.eventID = row[5]
        facts.eventType = row[6]
        facts.label = row[7]
        facts.position = row[8]
        facts.mimeType = row[9]
        facts.durationSeconds = row[10]
        facts.participants = row[11]
        facts.keywords = row[12]
        return StoredFile(host: row[0], fileID: row[1], checksumSHA256: row[2], facts: facts)
    }

    private static func text(_ column: String) -> String? { column.isEmpty ? nil : column }
}
