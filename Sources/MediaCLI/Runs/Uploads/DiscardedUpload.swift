internal import GigHive
internal import MediaStore

/// An upload that was to be given up, and what came of it.
struct DiscardedUpload: Sendable {
    enum End: String, Sendable, CaseIterable {
        case discarded
        case failed
        case planned
        case declined
    }

    var record: UploadRecord
    var end: End
    /// The journal's state now, where it changed.
    var state: UploadState?
    var error: (any Error)?
    /// What the server keeps of it.
    var warning: UploadWarning?

    var exitCode: ExitCode {
        switch end {
        case .discarded, .planned: .success
        case .declined: .failure
        case .failed: error.map { ErrorCatalogue.diagnosis(of: $0).exitCode } ?? .failure
        }
    }
}
