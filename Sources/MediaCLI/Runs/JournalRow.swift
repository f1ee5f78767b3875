internal import GigHive
internal import MediaStore

/// An upload that had not ended, and what the server said about it when asked now.
struct JournalRow: Sendable {
    var record: UploadRecord
    /// What was found out; nil when nobody was asked.
    var result: UploadResult?

    var state: UploadState { result?.state ?? record.state }

    var diagnosis: Diagnosis? {
        result?.error.map { ErrorCatalogue.diagnosis(of: $0) }
    }

    /// An upload that another process is still busy with is no failure, and neither is one that was settled.
    var exitCode: ExitCode {
        if result?.error?.code == .uploadInProgress {
            return .success
        }
        return switch state {
        case .planned, .done, .duplicate, .failed, .cancelled: .success
        case .tokenLost: .deleteToken
        case .sending, .sent, .finalized, .unknownOutcome: .network
        }
    }
}
