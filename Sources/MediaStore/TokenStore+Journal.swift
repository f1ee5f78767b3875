import Foundation
import GRDB

extension TokenStore {
    /// A new id: `u-` and 16 random characters.
    public static func newUploadID() -> String { "u-" + RandomName.make() }

    /// Writes the intent row of an upload.
    ///
    /// - Throws: `StoreError`; `.other` when the id is taken.
    public func insert(_ record: UploadRecord) throws(StoreError) {
        try connection.write { try UploadRow.insert(record, $0) }
    }

    /// Changes a row. Fields of `change` that are nil stay as they are.
    ///
    /// - Throws: `StoreError`; `.other` when there is no such row.
    public func update(_ uploadID: String, _ change: UploadChange) throws(StoreError) {
        try connection.write { [path = connection.path] db in
            guard try UploadRow.update(uploadID, change, db) else { throw UploadRow.missing(uploadID, path) }
        }
    }

    /// One row.
    public func upload(_ uploadID: String) throws(StoreError) -> UploadRecord? {
        try connection.read { db in
            try UploadRow.fetch(db, where: "upload_id = ?", [uploadID]).first
        }
    }

    /// Rows in any of these states, newest first; all states when `states` is empty.
    public func uploads(states: Set<UploadState>, host: String?) throws(StoreError) -> [UploadRecord] {
        let wanted = states.isEmpty ? Set(UploadState.allCases) : states
        let names = wanted.map { "'\($0.rawValue)'" }.joined(separator: ", ")
        return try connection.read { db in
            try UploadRow.fetch(db, where: "state IN (\(names)) AND (?1 IS NULL OR host = ?1)", [host])
        }
    }

    /// Rows for exactly this file, unchanged in content and status, on a host; newest first. Tells what was already
    /// sent or is being sent from here.
    public func uploads(identity: FileIdentity, host: String) throws(StoreError) -> [UploadRecord] {
        try connection.read { db in
            try UploadRow.fetch(
                db,
                where: """
                    inode = ? AND device = ? AND host = ? AND file_size = ? AND modified_ns = ? AND changed_ns = ?
                    """,
                [
                    Int64(bitPattern: identity.inode), Int64(bitPattern: identity.device), host, identity.size,
                    identity.modificationNanoseconds, identity.changeNanoseconds,
                ]
            )
        }
    }
}

/// Rows of the table `uploads`.
enum UploadRow {
    private static let columns = """
        upload_id, path, state, host, base_url, fields, device, inode, file_size, modified_ns, changed_ns, size_bytes, \
        checksum_sha256, file_id, attempts, http_status, failure_code, created_at, updated_at
        """

    static func insert(_ record: UploadRecord, _ db: Database) throws {
        let fields = String(decoding: try JSONEncoder().encode(record.fields), as: UTF8.self)
        let identity = record.identity
        let arguments: [(any DatabaseValueConvertible)?] = [
            record.uploadID, Data(record.path), record.state.rawValue, record.host, record.baseURL, fields,
            identity.map { Int64(bitPattern: $0.device) }, identity.map { Int64(bitPattern: $0.inode) },
            identity?.size, identity?.modificationNanoseconds, identity?.changeNanoseconds, record.sizeBytes,
            record.checksumSHA256, record.fileID, record.attempts, record.httpStatus, record.failureCode,
            record.createdAt.milliseconds, record.updatedAt.milliseconds,
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
                    http_status = coalesce(?, http_status), failure_code = coalesce(?, failure_code), updated_at = ?
                WHERE upload_id = ?
                """
        ).execute(arguments: [
            change.state?.rawValue, change.checksumSHA256, change.fileID, change.attempts, change.httpStatus,
            change.failureCode, (change.updatedAt ?? Date()).milliseconds, uploadID,
        ])
        return db.changesCount == 1
    }

    static func missing(_ uploadID: String, _ path: String) -> StoreError {
        StoreError(.other, path: path, detail: "no upload \(uploadID) in the journal")
    }

    static func fetch(
        _ db: Database,
        where condition: String,
        _ arguments: [(any DatabaseValueConvertible)?]
    ) throws -> [UploadRecord] {
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT \(columns) FROM uploads WHERE \(condition) ORDER BY created_at DESC, rowid DESC",
            arguments: StatementArguments(arguments)
        )
        var records: [UploadRecord] = []
        while let row = try rows.next() { records.append(try record(row)) }
        return records
    }

    private static func record(_ row: Row) throws -> UploadRecord {
        let uploadID: String = row[0]
        guard let state = UploadState(rawValue: row[2]) else {
            throw StoreError(.corrupt, path: "tokens.sqlite", detail: "upload \(uploadID) has an unknown state")
        }
        return UploadRecord(
            uploadID: uploadID,
            path: [UInt8](row[1] as Data),
            state: state,
            host: row[3],
            baseURL: row[4],
            fields: try JSONDecoder().decode([UploadField].self, from: row[5]),
            identity: identity(row),
            sizeBytes: row[11],
            checksumSHA256: row[12],
            fileID: row[13],
            attempts: row[14],
            httpStatus: row[15],
            failureCode: row[16],
            createdAt: Date(milliseconds: row[17]),
            updatedAt: Date(milliseconds: row[18])
        )
    }

    private static func identity(_ row: Row) -> FileIdentity? {
        guard let device = row[6] as Int64?, let inode = row[7] as Int64?, let size = row[8] as Int64?,
            let modified = row[9] as Int64?, let changed = row[10] as Int64?
        else { return nil }
        return FileIdentity(
            device: UInt64(bitPattern: device),
            inode: UInt64(bitPattern: inode),
            size: size,
            modificationNanoseconds: modified,
            changeNanoseconds: changed
        )
    }
}
