/// `GET /api/v1/devices/challenge` (hash-only contract 3.2).
public struct RegistrationChallenge: Sendable, Equatable {
    /// 32 bytes.
    public var bytes: [UInt8]
    /// RFC 3339, as sent; five minutes on.
    public var expiresAt: String
}

/// What proves where a new device's key lies (contract 3.4).
public enum KeyAttestation: Sendable, Equatable {
    /// Proof of possession alone: level `software`.
    case own
    /// Evidence made by the TPM's owner; nothing in it is checked here.
    case tpm2(TPM2Evidence)
}

/// What a TPM's own tools certify about a key (contract 3.4): sent as it is.
public struct TPM2Evidence: Sendable, Equatable {
    /// TPMT_PUBLIC of the signing key.
    public var keyPublicArea: [UInt8]
    /// TPMT_PUBLIC of the attestation key.
    public var attestationKeyPublicArea: [UInt8]
    /// TPMS_ATTEST of TPM2_Certify over the signing key.
    public var certification: [UInt8]
    /// TPMT_SIGNATURE of the attestation key over `certification`.
    public var certificationSignature: [UInt8]
    /// DER, leaf first.
    public var endorsementCertificates: [[UInt8]]

    /// Makes evidence.
    public init(
        keyPublicArea: [UInt8],
        attestationKeyPublicArea: [UInt8],
        certification: [UInt8],
        certificationSignature: [UInt8],
        endorsementCertificates: [[UInt8]]
    ) {
        self.keyPublicArea = keyPublicArea
        self.attestationKeyPublicArea = attestationKeyPublicArea
        self.certification = certification
        self.certificationSignature = certificationSignature
        self.endorsementCertificates = endorsementCertificates
    }
}

/// `201` of a registration.
public struct RegistrationReply: Sendable, Equatable {
    /// UUID.
    public var deviceID: String
    /// As sent: `software`, `tpm2`, …
    public var attestationLevel: String
}

/// The end of a submission.
public enum SubmissionReply: Sendable, Equatable {
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
