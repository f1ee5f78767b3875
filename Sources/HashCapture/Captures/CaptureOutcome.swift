public import CaptureSubmission
public import MediaStore

/// Where a capture has got to.
public struct CaptureOutcome: Sendable {
    /// As it is kept now.
    public var record: CaptureRecord
    /// What the user should be told.
    public var notices: [CaptureNotice]
    /// What kept it from being accepted.
    public var error: CaptureError?
    /// Whether the record was there before and nothing had to be sent.
    public var isKnown: Bool

    /// Makes an outcome.
    package init(
        record: CaptureRecord,
        notices: [CaptureNotice] = [],
        error: CaptureError? = nil,
        isKnown: Bool = false
    ) {
        self.record = record
        self.notices = notices
        self.error = error
        self.isKnown = isKnown
    }
}
