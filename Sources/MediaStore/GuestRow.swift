import GRDB

/// Rows of the table `guest_receipts`.
enum GuestRow {
    /// The server repeats its answer when it is asked again, so the newest receipt of an upload is the one to keep.
    static func upsert(_ receipt: GuestReceipt, of uploadID: String, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO guest_receipts (upload_id, nonce, job_id) VALUES (?, ?, ?)
                ON CONFLICT (upload_id) DO UPDATE SET nonce = excluded.nonce, job_id = excluded.job_id
                """
        ).execute(arguments: [uploadID, receipt.nonce, receipt.jobID])
    }

    static func fetch(_ uploadID: String, _ db: Database) throws -> GuestReceipt? {
        try Row.fetchOne(
            db,
            sql: "SELECT nonce, job_id FROM guest_receipts WHERE upload_id = ?",
            arguments: [uploadID]
        ).map { GuestReceipt(nonce: $0[0], jobID: $0[1]) }
    }
}
