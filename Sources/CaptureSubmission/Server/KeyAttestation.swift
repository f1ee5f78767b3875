/// What proves where a new device's key lies (contract 3.4).
package enum KeyAttestation: Sendable, Equatable {
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
