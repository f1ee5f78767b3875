public import Foundation
import GRDB

/// The receipt that a server issued to a guest for an upload (gighive contract section 6). The nonce is a secret: it
/// authorizes deletion.
public struct GuestReceipt: Sendable, Equatable, CustomStringConvertible {
    /// `status_nonce`.
    public var nonce: String
    /// `upload_job_id`.
    public var jobID: Int64

    public init(nonce: String, jobID: Int64) {
        self.nonce = nonce
        self.jobID = jobID
    }

    /// The job's number, without the secret.
    public var description: String { "job \(jobID), nonce ***" }
}

/// The last known state of a guest's upload.
public struct GuestStanding: Sendable, Equatable {
    /// `pending`, `approved`, `hidden`, `rejected` or `expired`.
    public var state: String
    /// When the server reported the state.
    public var notedAt: Date

    public init(state: String, notedAt: Date) {
        self.state = state
        self.notedAt = notedAt
    }
}

extension GuestReceipt: Storable {
    static let table = "guest_receipts"

    private enum CodingKeys: String, CodingKey {
        case nonce
        case jobID = "job_id"
    }
}

/// Statements on the table `guest_receipts`.
enum GuestRow {
    /// The server repeats its response to a repeated query, so the newest receipt of an upload is kept.
    static func upsert(_ receipt: GuestReceipt, of uploadID: String, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO guest_receipts (upload_id, nonce, job_id) VALUES (?, ?, ?)
                ON CONFLICT (upload_id) DO UPDATE SET nonce = excluded.nonce, job_id = excluded.job_id
                """
        ).execute(arguments: [uploadID, receipt.nonce, receipt.jobID])
    }

    static func standings(_ db: Database) throws -> [String: GuestStanding] {
        let sql =
            "SELECT upload_id, state, state_at FROM guest_receipts WHERE state IS NOT NULL AND state_at IS NOT NULL"
        return Dictionary(
            uniqueKeysWithValues: try Row.fetchAll(db, sql: sql).map { row in
                (row["upload_id"], GuestStanding(state: row["state"], notedAt: Date(milliseconds: row["state_at"])))
            }
        )
    }
}
