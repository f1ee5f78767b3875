internal import MediaStore
internal import Tapes

/// What became of one file of `tapes add`.
struct AddedClip: Sendable {
    enum State: String, Sendable {
        case added, planned, failed
    }

    var path: [UInt8]
    var state: State
    /// The clip as it is kept; of a planned one only what the file tells counts.
    var clip: ClipRecord?
    var error: TapesError?

    var exitCode: ExitCode {
        error.map { ErrorCatalogue.diagnosis(of: $0).exitCode } ?? .success
    }
}
