internal import CaptureSubmission
internal import HashCapture
internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore

/// One capture of a run, and how it ended.
struct CaptureItem: Sendable {
    /// Where it has got to: the states of records, and those without a record.
    enum State: String, Sendable, CaseIterable {
        case pending, queued, submitted, accepted, rejected
        case unknownOutcome = "unknown_outcome"
        /// A dry run.
        case planned
        /// There is no record.
        case failed
        /// Stopped before there was a record.
        case cancelled

        init(_ state: CaptureRecord.State) {
            self =
                switch state {
                case .pending: .pending
                case .queued: .queued
                case .submitted: .submitted
                case .accepted: .accepted
                case .rejected: .rejected
                case .unknownOutcome: .unknownOutcome
                }
        }
    }

    /// Path as it was named; nil for a digest, or what a record says.
    var path: [UInt8]?
    var state: State
    var record: CaptureRecord?
    var preview: CapturePreview?
    var notices: [CaptureNotice] = []
    var error: Diagnosis?
    /// Whether it was at the server before, and nothing had to be sent.
    var isKnown = false

    /// A capture with a record.
    init(_ outcome: CaptureOutcome, path: [UInt8]?) {
        self.path = path
        record = outcome.record
        state = State(outcome.record.state)
        isKnown = outcome.isKnown
        // Nothing was told this time.
        notices = isKnown ? [] : outcome.notices
        error = state == .accepted ? nil : Self.diagnosis(of: outcome)
        if let reason = reasonToRetry, let id = record?.id.prefix(8) {
            let hint = "\(reason): mediactl hash-only retry \(id)\(needsResend ? " --resend" : "")"
            error?.hint = hint
        }
    }

    /// When retrying this very record leads further; nil where the error itself says what to do.
    private var reasonToRetry: String? {
        switch state {
        case .pending where error?.code == CaptureError.Code.signingFailed.rawValue:
            "nothing is sent unsigned; when the key can be used again"
        case .unknownOutcome where needsResend: "it probably has, and cannot be asked; once more"
        default: nil
        }
    }

    /// What would be sent.
    init(_ preview: CapturePreview, path: [UInt8]?) {
        self.path = path
        self.preview = preview
        state = .planned
        notices = preview.notices
    }

    /// Something without a record.
    init(failure: any Error, path: [UInt8]?, record: CaptureRecord? = nil) {
        let diagnosis = ErrorCatalogue.diagnosis(of: failure)
        self.path = path
        self.record = record
        state = record.map { State($0.state) } ?? (diagnosis.exitCode == .interrupt ? .cancelled : .failed)
        error = diagnosis
    }

    /// What keeps it from being accepted: this run's error, else the one that the record keeps.
    private static func diagnosis(of outcome: CaptureOutcome) -> Diagnosis {
        if let error = outcome.error { return ErrorCatalogue.diagnosis(of: error) }
        let record = outcome.record
        let code: CaptureError.Code =
            record.errorCode.flatMap { .init(rawValue: $0) }
            ?? (record.state == .rejected ? .badRequest : record.state == .pending ? .signingFailed : .unknownOutcome)
        return ErrorCatalogue.diagnosis(
            of: CaptureError(code, detail: record.errorDetail ?? "", httpStatus: record.httpStatus, value: record.id)
        )
    }

    /// How a program ends that made only this capture.
    var exitCode: ExitCode { error?.exitCode ?? .success }

    /// What it is called in messages.
    var name: String { (path ?? record?.path).map { ErrorCatalogue.quoted($0) } ?? digestName }

    /// What it is called in results.
    var resultName: String { (path ?? record?.path).map { TerminalText.escaped($0) } ?? digestName }

    private var digestName: String {
        let hash = preview?.payload.mediaHash.hex ?? record?.mediaHash
        return hash.map { "sha256:\($0.prefix(8))" } ?? "the digest"
    }
}
