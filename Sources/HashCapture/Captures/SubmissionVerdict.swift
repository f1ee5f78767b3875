internal import CaptureSubmission

/// What a failed submission means for its record (hash-only contract 1.3). The whole table is here.
enum SubmissionVerdict: Equatable {
    /// The server did not take it and may take it later: `queued`.
    case again
    /// The server took it, or may have, and did not say so: `unknown_outcome`.
    case unknown
    /// The server has ended its work with a failure that may have come after the work: `unknown_outcome` until it says
    /// that there is nothing.
    case failedInside
    /// The server refused this capture for good: `rejected`.
    case rejected
    /// Nothing was signed: `pending`.
    case unsigned

    /// Judges an error of `CaptureClient.submit`, or of a step before it.
    ///
    /// What is wrong with the device (its key, its counter, its level, its clock) says nothing about the capture, which
    /// another registration may still prove: it stays `queued`.
    init(_ error: CaptureError) {
        switch error.code {
        case .signingFailed, .keyUnusable, .counterExhausted: self = .unsigned
        // 500 is the server's own end; 502 and 504 come from a proxy whose server may still be at work.
        case .unknownOutcome: self = error.httpStatus == 500 ? .failedInside : .unknown
        case .transport: self = error.isRetryable ? .again : .unknown
        // Given only while bytes of the body were left.
        case .cancelled: self = .again
        case .serverError, .rateLimited, .requestTimeout, .locked, .clockWrong, .redirected, .busy: self = .again
        case .assertionRefused, .requestSignatureRefused, .unauthorized, .forbidden: self = .again
        case .deviceUnknown, .deviceUnverified, .notRegistered: self = .again
        case .badRequest, .unsupportedMedia, .duplicate, .conflict, .payloadTooLarge: self = .rejected
        case .unexpectedAnswer, .notFound, .captureNotFound: self = Self.ofUnexpected(error.httpStatus)
        case .storeUnusable, .diskFull, .recordUnusable, .internalError: self = .again
        // Found before anything was sent.
        case .sourceChanged, .fileUnreadable, .fileNotFound: self = .again
        default: self = .unknown
        }
    }

    /// An answer that fits nothing. A 404 or 405 without a code comes from a wrong address, and judges nothing.
    private static func ofUnexpected(_ status: Int?) -> SubmissionVerdict {
        switch status {
        case .some(404), .some(405): .again
        case .some(400..<500): .rejected
        default: .unknown
        }
    }
}
