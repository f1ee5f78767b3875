public import CaptureSubmission
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

extension CaptureSession {
    /// What would be sent: reads the file, writes nothing, uses no counter and no key.
    ///
    /// Cancelling ends the hashing with `.cancelled`.
    ///
    /// - Parameter request: What to prove.
    /// - Returns: The body with a placeholder for the assertion, and what becomes public.
    /// - Throws: `CaptureError`, as `capture` does before it writes.
    public func preview(_ request: CaptureRequest) async throws(CaptureError) -> CapturePreview {
        let input = try await CaptureInput.read(request, profile: profile)
        let digest = try await digest(of: request, input)
        let payload = payload(of: input, digest, request)
        return CapturePreview(
            payload: payload,
            body: try payload.body(for: profile, assertion: Assertion.placeholder),
            notices: input.notices(about: payload, request, profile: profile),
            analysisMilliseconds: input.analysisMilliseconds,
            mediaBytes: input.file?.status.size,
            earlierID: try records(of: digest).first { $0.server == server }?.id
        )
    }

    func payload(
        of input: CaptureInput,
        _ digest: SHA256Digest,
        _ request: CaptureRequest
    ) -> HashOnlyPayload {
        input.payload(
            digest,
            request,
            profile: profile,
            programVersion: surroundings.programVersion,
            now: surroundings.now()
        )
    }

    private func digest(of request: CaptureRequest, _ input: CaptureInput) async throws(CaptureError) -> SHA256Digest {
        if case .digest(let digest) = request.subject { return digest }
        guard let file = input.file else { throw CaptureError(.internalError) }
        return try await SHA256Digest.of(file)
    }
}
