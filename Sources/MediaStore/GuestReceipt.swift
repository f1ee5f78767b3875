public import Foundation

/// What a server gave a guest for an upload (gighive contract section 6). The nonce is a secret: it takes the upload back.
public struct GuestReceipt: Sendable, Equatable, CustomStringConvertible {
    /// `status_nonce`.
    public var nonce: String
    /// `upload_job_id`.
    public var jobID: Int64

    /// Makes a receipt.
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

    /// Makes a standing.
    public init(state: String, notedAt: Date) {
        self.state = state
        self.notedAt = notedAt
    }
}
