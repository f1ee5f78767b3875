internal import GigHive
internal import MediaStore

/// An upload that is of interest still, and what the server said about it when asked now.
struct JournalRow: Sendable {
    /// What can be done about it.
    enum Standing: Sendable, Equatable {
        /// Nothing, or it was settled.
        case settled
        /// It can go on; this much is on the server. Bytes.
        case resumable(sentBytes: Int64)
        /// Another process is sending it.
        case running
        /// A guest upload and the organizer's decision; nil if it was not queried.
        case guest(GuestStatus.State?)
    }

    var record: UploadRecord
    /// What was found out; nil when nobody was asked.
    var result: UploadResult?
    var standing = Standing.settled
    /// Whether `uploads resume` can resume it.
    var isResumable = false
    /// The last known state of a guest's upload.
    var lastKnown: GuestStanding?

    var state: UploadState { result?.state ?? record.state }

    var diagnosis: Diagnosis? {
        result?.error.map { ErrorCatalogue.diagnosis(of: $0) }
    }

    /// Bytes that the server has of an upload that can go on.
    var sentBytes: Int64? {
        if case .resumable(let bytes) = standing { bytes } else { nil }
    }

    /// The organizer's decision about a guest upload.
    var guestState: GuestStatus.State? {
        if case .guest(let state) = standing { state } else { nil }
    }

    /// The command to type next; nil when there is nothing to do.
    var next: String? {
        switch standing {
        case .resumable:
            "mediactl uploads resume \(record.uploadID)" + (record.isGuest ? " --event-link-file FILE" : "")
        case .guest(.approved): record.fileID.map { "mediactl uploads delete \($0)" }
        case .settled, .running, .guest: nil
        }
    }

    /// An upload that another process is still busy with is no failure, and neither is one that was settled or can go
    /// on.
    var exitCode: ExitCode {
        guard standing == .settled, result?.error?.code != .uploadInProgress else { return .success }
        return switch state {
        case .planned, .done, .duplicate, .linked, .failed, .cancelled: .success
        case .refusedDuplicate: .conflict
        case .tokenLost: .deleteToken
        case .sending, .sent, .finalized, .unknownOutcome: .network
        }
    }
}
