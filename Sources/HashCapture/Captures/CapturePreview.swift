public import CaptureSubmission

/// What a capture would send.
public struct CapturePreview: Sendable {
    /// What it says.
    public var payload: HashOnlyPayload
    /// Identical to what is sent but for the assertion.
    public var body: HashOnlyBody
    /// What the user should be told.
    public var notices: [CaptureNotice]
    /// How long the analysis took.
    public var analysisMilliseconds: Int64
    /// Length of the media; nil when it was not observed.
    public var mediaBytes: Int64?
    /// Another record of the same media, if there is one.
    public var earlierID: String?
}
