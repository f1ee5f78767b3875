import Foundation
import GRDB

/// Stores salvaged rows where they are missing. Never removes or replaces a token that is there.
struct SalvageSink {
    /// Whether nothing was stored before, so that nothing can be lost by what is found.
    let isFresh: Bool
    /// Rows that were added.
    private(set) var tokens = 0
    private(set) var uploads = 0
    private(set) var others = 0
    /// Tokens of files that were deleted since.
    private(set) var buried = 0
    /// Uploads that are finished according to their rows, which are stored after all tokens.
    private var finished: [UploadRecord] = []

    init(isFresh: Bool) {
        self.isFresh = isFresh
    }

    /// - Throws: Errors of SQLite.
    mutating func store(_ row: SalvagedRow, _ db: Database) throws {
        switch row {
        case .token(let entry, let isTrusted): try store(entry, isTrusted: isTrusted, db)
        case .upload(let record) where record.state == .done && !isFresh: finished.append(record)
        case .upload(let record): try store(record, db)
        case .tus(let uploadID, let parts, let finalID, let startedAt):
            others += try insert(
                """
                INSERT INTO tus_uploads (upload_id, parts, final_tus_id, finalize_started_at)
                SELECT ?1, ?2, ?3, ?4 WHERE EXISTS (SELECT 1 FROM uploads WHERE upload_id = ?1)
                ON CONFLICT DO NOTHING
                """,
                [uploadID, parts, finalID, startedAt],
                db
            )
        case .receipt(let uploadID, let receipt, let state, let stateAt):
            others += try insert(
                """
                INSERT INTO guest_receipts (upload_id, nonce, job_id, state, state_at) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
                [uploadID, receipt.nonce, receipt.jobID, state, stateAt],
                db
            )
        case .storedFile(let file, let createdAt): others += try StoredFileRow.insert(file, createdAt: createdAt, db)
        case .tombstone(let host, let fileID, let checksum, let createdAt):
            others += try insert(
                """
                INSERT INTO tombstones (host, file_id, checksum_sha256, created_at)
                SELECT ?1, ?2, ?3, ?4 WHERE ?5 OR NOT EXISTS (
                    SELECT 1 FROM tokens WHERE host = ?1 AND file_id = ?2 AND checksum_sha256 = ?3)
                ON CONFLICT DO NOTHING
                """,
                [host, fileID, checksum, createdAt, isFresh],
                db
            )
        }
    }

    private mutating func store(_ entry: TokenEntry, isTrusted: Bool, _ db: Database) throws {
        guard try !TokenRow.isBuried(entry, db) else {
            buried += 1
            return
        }
        guard try isTrusted || !TokenRow.hasKey(of: entry, db) else { return }
        if try TokenRow.upsert(entry, db, keepingRowID: isFresh) { tokens += 1 }
    }

    /// The newest state of an upload is the one to keep.
    private mutating func store(_ record: UploadRecord, _ db: Database) throws {
        let known = try Int64.fetchOne(
            db.cachedStatement(sql: "SELECT updated_at FROM uploads WHERE upload_id = ?"),
            arguments: [record.uploadID]
        )
        if let known {
            guard known < record.updatedAt.milliseconds else { return }
            let change = UploadChange(
                state: record.state,
                checksumSHA256: record.checksumSHA256,
                fileID: record.fileID,
                attempts: record.attempts,
                httpStatus: record.httpStatus,
                failureCode: record.failureCode,
                updatedAt: record.updatedAt
            )
            _ = try UploadRow.update(record.uploadID, change, db)
        } else {
            try UploadRow.insert(record, db)
            uploads += 1
        }
    }

    /// Whether the token of an upload is stored, or was removed.
    private func hasToken(of record: UploadRecord, _ db: Database) throws -> Bool {
        let sql = """
            SELECT 1 FROM tokens WHERE host = ?1 AND file_id = ?2
            UNION ALL SELECT 1 FROM tombstones WHERE host = ?1 AND file_id = ?2
            """
        let arguments: StatementArguments = [record.host, record.fileID]
        return try Row.fetchOne(db.cachedStatement(sql: sql), arguments: arguments) != nil
    }

    private func insert(_ sql: String, _ arguments: StatementArguments, _ db: Database) throws -> Int {
        try db.cachedStatement(sql: sql).execute(arguments: arguments)
        return db.changesCount
    }

    /// Stores the finished uploads whose tokens are there, and removes the tokens whose tombstone was found later than they
    /// were. Rows come in no order.
    ///
    /// A finished upload whose token was lost with another part of its transaction stays as it was: its response may still be on
    /// the disk, and is adopted only for an upload that is not finished.
    ///
    /// - Throws: Errors of SQLite.
    mutating func finish(_ db: Database) throws {
        for record in finished {
            if try record.isGuest || hasToken(of: record, db) { try store(record, db) }
        }
        guard isFresh else { return }
        try db.execute(
            sql: """
                DELETE FROM tokens WHERE EXISTS (
                    SELECT 1 FROM tombstones AS stone
                    WHERE stone.host = tokens.host AND stone.file_id = tokens.file_id
                        AND stone.checksum_sha256 = tokens.checksum_sha256
                        AND tokens.created_at < stone.created_at + 1000
                )
                """
        )
        buried += db.changesCount
        tokens -= db.changesCount
    }
}
