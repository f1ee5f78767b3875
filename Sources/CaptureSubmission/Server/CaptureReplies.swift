/// `GET /api/v1/devices/challenge` (hash-only contract 3.2).
package struct RegistrationChallenge: Sendable, Equatable {
    /// 32 bytes.
    package var bytes: [UInt8]
    /// RFC 3339, as sent; five minutes on.
    package var expiresAt: String
}

/// `201` of a registration.
package struct RegistrationReply: Sendable, Equatable {
    /// UUID.
    package var deviceID: String
    /// As sent: `software`, `tpm2`, …
    package var attestationLevel: String
}

/// The end of a submission.
package enum SubmissionReply: Sendable, Equatable {
    /// 202: done.
    case accepted(captureID: String, verificationURL: String?)
    /// 409: there already, with the id where the server tells it (contract 3.4 no. 4).
    case duplicate(captureID: String?)
}

/// A capture as its owner's server knows it (contract 6.2).
public struct RemoteCapture: Sendable, Equatable {
    /// UUID, lower case.
    public var captureID: String
    /// `hash_only`, `full`.
    public var captureMode: String?
    /// `complete`, …
    public var status: String?
    /// Lower-case hexadecimal.
    public var mediaHash: String?
    /// Whether the server has the media.
    public var isMediaStored: Bool?
    /// `high`, `medium`, `low`, `suspicious`.
    public var confidenceLevel: String?
    /// RFC 3339, as sent: up to nine digits of a second, any offset (trap 10).
    public var capturedAt: String?
    /// Likewise.
    public var uploadedAt: String?
    /// http or https; nil for anything else.
    public var verificationURL: String?
}
