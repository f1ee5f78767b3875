import Foundation
import GRDB
internal import MediaCore
import MediaSystem
import Outcomes

/// Rows of the table `uploads`.
enum UploadRow {
    private static let columns = """
        upload_id, path, state, host, base_url, fields, device, inode, file_size, modified_ns, changed_ns, size_bytes, \
        checksum_sha256, file_id, attempts, http_status, failure_code, created_at, updated_at, transport, is_guest
        """

    /// Takes the host, or NULL for every host.
    static func isIn(_ states: Set<UploadState>) -> String {
        "state IN (\(names(of: states))) AND (?1 IS NULL OR host = ?1)"
    }

    /// Takes inode, device, host, size and the two times.
    static let isFile = """
        inode = ? AND device = ? AND host = ? AND file_size = ? AND modified_ns = ? AND changed_ns = ?
        """

    /// Takes host and checksum.
    static let hasChecksum = "host = ? AND checksum_sha256 = ?"

    static func names(of states: some Sequence<UploadState>) -> String {
        states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
    }

    static func select(where condition: String) -> String {
        "SELECT \(columns) FROM uploads WHERE \(condition) ORDER BY created_at DESC, rowid DESC"
    }

    static func insert(_ record: UploadRecord, _ db: Database) throws {
        let fields = json(record.fields)
        let identity = record.identity
        let arguments: [(any DatabaseValueConvertible)?] = [
            record.uploadID, Data(record.path), record.state.rawValue, record.host, record.baseURL, fields,
            identity.map { Int64(bitPattern: $0.device) }, identity.map { Int64(bitPattern: $0.inode) },
            identity?.size, identity?.modificationNanoseconds, identity?.changeNanoseconds, record.sizeBytes,
            record.checksumSHA256, record.fileID, record.attempts, record.httpStatus, record.failureCode,
            record.createdAt.milliseconds, record.updatedAt.milliseconds,
            record.transport.rawValue, record.isGuest,
        ]
        let places = Array(repeating: "?", count: arguments.count).joined(separator: ", ")
        try db.cachedStatement(sql: "INSERT INTO uploads (\(columns)) VALUES (\(places))")
            .execute(arguments: StatementArguments(arguments))
    }

    /// - Returns: false when there is no such row.
    static func update(_ uploadID: String, _ change: UploadChange, _ db: Database) throws -> Bool {
        try db.cachedStatement(
            sql: """
                UPDATE uploads SET state = coalesce(?, state), checksum_sha256 = coalesce(?, checksum_sha256),
                    file_id = coalesce(?, file_id), attempts = coalesce(?, attempts),
                    http_status = coalesce(?, iif(?, NULL, http_status)),
                    failure_code = coalesce(?, iif(?, NULL, failure_code)),
                    fields = coalesce(?, fields), transport = coalesce(?, transport), updated_at = ?
                WHERE upload_id = ?
                """
        ).execute(arguments: [
            change.state?.rawValue, change.checksumSHA256, change.fileID, change.attempts,
            change.httpStatus, change.clearsFailure, change.failureCode, change.clearsFailure,
            change.fields.map(json), change.transport?.rawValue,
            (change.updatedAt ?? Date()).milliseconds, uploadID,
        ])
        return db.changesCount == 1
    }

    static func exists(_ uploadID: String, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM uploads WHERE upload_id = ?)"),
            arguments: [uploadID]
        ) ?? false
    }

    static func missing(_ uploadID: String, _ path: String) -> StoreError {
        StoreError(.other, path: path, detail: "no upload \(uploadID) in the journal")
    }

    static func fetch(
        _ db: Database,
        where condition: String,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws -> [UploadRecord] {
        let statement = try db.cachedStatement(sql: select(where: condition))
        let rows = try Row.fetchCursor(statement, arguments: StatementArguments(arguments))
        var records: [UploadRecord] = []
        while let row = try rows.next() { records.append(try record(row)) }
        return records
    }

    private static func record(_ row: Row) throws -> UploadRecord {
        let uploadID: String = row[0]
        guard let state = UploadState(rawValue: row[2]) else {
            throw StoreError(.corrupt, path: "tokens.sqlite", detail: "upload \(uploadID) has an unknown state")
        }
        guard let transport = UploadTransport(rawValue: row[19]) else {
            throw StoreError(.corrupt, path: "tokens.sqlite", detail: "upload \(uploadID) has an unknown transport")
        }
        return UploadRecord(
            uploadID: uploadID,
            path: [UInt8](row[1] as Data),
            state: state,
            host: row[3],
            baseURL: row[4],
            fields: try JSONDecoder().decode([UploadField].self, from: row[5]),
            identity: FileIdentity(row, from: 6),
            sizeBytes: row[11],
            checksumSHA256: row[12],
            fileID: row[13],
            transport: transport,
            isGuest: row[20],
            attempts: row[14],
            httpStatus: row[15],
            failureCode: (row[16] as String?).map(OutcomeTable.current),
            createdAt: Date(milliseconds: row[17]),
            updatedAt: Date(milliseconds: row[18])
        )
    }

    /// As `JSONEncoder` would write it, which takes longer than all the rest of an insertion.
    private static func json(_ fields: [UploadField]) -> String {
        let members = fields.map { JSONText.object([("name", .string($0.name)), ("value", .string($0.value))]) }
        return "[\(members.joined(separator: ","))]"
    }
}
