extension HashOnlySubmission {
    /// The field rules of contract 1.2, the first that is broken.
    func validate() throws(CaptureRefusal) {
        guard captureMode == "hash_only" else { throw .invalid("capture_mode must be \"hash_only\"") }
        guard mediaHash.wholeMatch(of: /[0-9a-fA-F]{64}/) != nil else {
            throw .invalid("media_hash must be 64 hexadecimal digits")
        }
        guard ["photo", "video"].contains(mediaType) else { throw .invalid("media_type must be photo or video") }
        guard depth.layers >= 0 else { throw .invalid("depth_layers must not be negative") }
        guard (0...1).contains(depth.coherence) else { throw .invalid("edge_coherence must be from 0 to 1") }
        guard !depth.version.isEmpty else { throw .invalid("algorithm_version must not be empty") }
        guard depth.status.map(["completed", "unavailable"].contains) ?? true else {
            throw .invalid("depth_analysis.status must be completed or unavailable")
        }
        guard CaptureTime(capturedAt) != nil else { throw .invalid("captured_at must be an RFC 3339 date-time") }
        guard !assertion.allSatisfy(\.isWhitespace) else { throw .invalid("assertion must not be empty") }
        guard CaptureAssertion.base64(assertion) != nil else { throw .invalid("assertion must be base64") }
        if mediaType == "video" { try validateVideo() }
    }

    private func validateVideo() throws(CaptureRefusal) {
        guard hasHashChain else { throw .invalid("hash_chain is required for a video") }
        guard let frameCount, frameCount > 0 else { throw .invalid("frame_count is required for a video, above 0") }
        guard let durationMilliseconds, durationMilliseconds > 0 else {
            throw .invalid("duration_ms is required for a video, above 0")
        }
    }
}
