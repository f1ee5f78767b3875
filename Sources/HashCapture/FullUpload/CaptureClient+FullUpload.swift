package import CaptureSubmission
package import MediaTransport

extension CaptureClient {
    /// `POST /api/v1/captures` (hash-only contract section 7), at most once: **the media leaves**.
    ///
    /// It stands here, and not beside `submit`, so that the module which sends hash-only captures has no call that could take
    /// anything but their bodies.
    ///
    /// - Parameters:
    ///   - body: The multipart form.
    ///   - contentType: With the form's boundary.
    ///   - headers: Of `RequestSignature`, over the whole form.
    ///   - requestID: UUID, echoed by the server.
    ///   - control: Breaks the upload off.
    ///   - progress: Bytes of the whole form.
    /// - Returns: What the server did.
    /// - Throws: `CaptureError` as `submit`.
    package func upload(
        _ body: any RequestBody,
        contentType: String,
        headers: [HTTPHeader],
        requestID: String,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(CaptureError) -> SubmissionReply {
        let form = [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", contentType)]
        let request = HTTPRequest(
            .post,
            server.resource("/api/v1/captures"),
            headers: form + headers + [HTTPHeader("X-Request-Id", requestID)],
            body: body,
            repeatability: .atMostOnce,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestAnswer)
        )
        let response: HTTPResponse
        do {
            response = try await http.execute(request, control: control, progress: progress)
        } catch {
            throw CaptureError(submitting: error)
        }
        return try SubmissionReply(reading: response)
    }
}
