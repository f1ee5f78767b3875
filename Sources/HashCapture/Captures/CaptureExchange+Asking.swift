internal import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaStore

/// What became of a record whose outcome is unknown.
extension CaptureExchange {
    /// Finds out what became of a record whose outcome is unknown; without sending it.
    ///
    /// - Parameters:
    ///   - progress: The record.
    ///   - error: What made it unknown.
    /// - Returns: `accepted` when it is there, `queued` when it cannot be, and otherwise as it was, with the error.
    /// - Throws: `CaptureError` when the store cannot keep what was found out.
    func ask(_ progress: Progress, _ error: CaptureError) async throws(CaptureError) -> CaptureOutcome {
        var progress = progress
        // No route of the reference server takes a hash (contract 6.4).
        guard sender.device.profile == .mediactl1, let hash = SHA256Digest(hex: progress.record.mediaHash) else {
            return CaptureOutcome(record: progress.record, notices: progress.notices, error: error)
        }
        let remote: RemoteCapture?
        do {
            remote = try await sender.remote(byHash: hash, at: time(progress), control: control)
        } catch {
            return CaptureOutcome(record: progress.record, notices: progress.notices, error: Self.unknown(error))
        }
        if let remote, progress.record.mode == .full, remote.isMediaStored != true {
            let detail = "the server knows this media by its hash, and takes no copy of it"
            let error = CaptureError(.duplicate, detail: detail)
            try keep(&progress, error) { $0.state = .rejected }
            return CaptureOutcome(record: progress.record, notices: progress.notices, error: error)
        }
        if let remote {
            try accept(&progress, remote.captureID, remote.verificationURL, status: 200)
            return CaptureOutcome(record: progress.record, notices: progress.notices)
        }
        // The server's work had ended, and left nothing. A request whose answer was lost may still be on its way; a full
        // upload is not sent again before the user says so, and would meet it as a duplicate.
        if SubmissionVerdict(error) == .failedInside || progress.record.mode == .full {
            try keep(&progress, error) { record in
                record.state = .queued
                record.submissions -= 1
            }
        }
        return CaptureOutcome(record: progress.record, notices: progress.notices, error: error)
    }

    private static func unknown(_ cause: CaptureError) -> CaptureError {
        CaptureError(
            .unknownOutcome,
            detail: "asking the server failed: \(cause.description)",
            httpStatus: cause.httpStatus,
            serverCode: cause.serverCode,
            isRetryable: cause.isRetryable,
            underlying: cause
        )
    }
}
