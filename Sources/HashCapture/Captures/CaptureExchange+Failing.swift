internal import CaptureSubmission
internal import MediaStore

/// What a failed attempt means for its record.
extension CaptureExchange {
    func failed(_ progress: Progress, _ error: CaptureError) async throws(CaptureError) -> CaptureOutcome {
        if error.code == .storeUnusable || error.code == .diskFull { throw error }
        var progress = progress
        var error = error
        switch SubmissionVerdict(error) {
        case .unsigned:
            try keep(&progress, error) { record in
                record.signingFailures += 1
                if record.submissions == 0 { (record.state, record.body) = (.pending, nil) }
            }
            if progress.record.signingFailures >= Self.signingLimit { error = Self.signingExhausted(error) }
        case .again: try takeBack(&progress, .queued, error)
        case .rejected: try takeBack(&progress, .rejected, error)
        case .unknown, .failedInside:
            try keep(&progress, error) { $0.state = .unknownOutcome }
            if progress.record.submissions > 0, !isStopped {
                return try await ask(progress, error)
            }
        }
        return CaptureOutcome(record: progress.record, notices: progress.notices, error: error)
    }

    /// Back to where it can be sent from, or refused: this attempt is known not to have been taken. An earlier one of
    /// unknown outcome may have been.
    func takeBack(
        _ progress: inout Progress,
        _ state: CaptureRecord.State,
        _ error: CaptureError
    ) throws(CaptureError) {
        try keep(&progress, error) { record in
            if record.state == .submitted { record.submissions -= 1 }
            let isOpen = record.submissions > 0 && state == .queued
            record.state = isOpen ? .unknownOutcome : record.body == nil ? .pending : state
        }
    }

    /// What to do after the last failure.
    static func signingExhausted(_ error: CaptureError?) -> CaptureError {
        let cause = error.map { $0.detail.isEmpty ? "" : ": \($0.detail)" } ?? ""
        return CaptureError(
            .signingFailed,
            detail: "signing has failed \(signingLimit) times\(cause)",
            underlying: error
        )
    }
}
