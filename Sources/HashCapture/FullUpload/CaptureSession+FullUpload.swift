public import CaptureSubmission
internal import MediaStore
public import MediaTransport

extension CaptureSession {
    /// The ordinary full upload (contract section 7): the media leaves. Refused while privacy mode is on.
    ///
    /// The media is kept in the vault as well. Nothing ever repeats such an upload but another call of this.
    ///
    /// - Parameters:
    ///   - request: A JPEG photo of at most 10 MiB, with a depth map.
    ///   - isAsserted: Whether the photo is signed for; false for a device whose key the server does not have, since it
    ///     would record the signature as a failure.
    ///   - control: Breaks the upload off.
    ///   - progress: Bytes of the whole body.
    /// - Returns: The record as it is now. `error` says what kept it from being accepted.
    /// - Throws: `CaptureError` `.privacyModeOn`, and others when there is no record at all.
    public func sendMedia(
        _ request: CaptureRequest,
        isAsserted: Bool = true,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(CaptureError) -> CaptureOutcome {
        guard !request.settings.isPrivacyModeEnabled else {
            throw CaptureError(.privacyModeOn, detail: "the media does not leave while privacy mode is on")
        }
        let device = try device()
        let input = try await CaptureInput.read(request, profile: profile)
        let filter = input.filter(request, profile: profile, programVersion: surroundings.programVersion)
        let upload = try FullUpload(
            input,
            metadata: filter.metadata(of: input.facts),
            capturedAt: filter.capturedAt(of: input.facts, now: surroundings.now()),
            isAsserted: isAsserted
        )
        switch try await keep(input, request, mode: .full, progress: nil) {
        case .ended(let outcome): return outcome
        case .open(let record, _):
            var outcome = try await exchange(record.id, device, control) { exchange, record throws(CaptureError) in
                try await exchange.submit(record, upload, progress)
            }
            outcome.notices = input.notices(about: upload) + outcome.notices
            return outcome
        }
    }
}

extension CaptureInput {
    /// What becomes public of a full upload besides the photo itself.
    fileprivate func notices(about upload: FullUpload) -> [CaptureNotice] {
        // The server labels hash-only evidence only.
        var notices = notices.filter { $0 != .labelledByServer } + [.capturedAtIsPublic(upload.capturedAt)]
        if case .coordinates? = upload.metadata.location { notices.append(.coordinatesArePublic(decimals: 2)) }
        return notices
    }
}
