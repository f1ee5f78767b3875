public import CaptureSubmission
public import MediaTransport

extension CaptureSession {
    /// The ordinary full upload (contract section 7): the media leaves. Refused while privacy mode is on.
    ///
    /// - Throws: `CaptureError`.
    public func sendMedia(
        _ request: CaptureRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(CaptureError) -> CaptureOutcome {
        throw CaptureError(.internalError)
    }
}
