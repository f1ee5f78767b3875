internal import MediaCore
internal import MediaCrypto

/// Proof of where a new device's key is stored (contract 3.4).
package enum KeyAttestation: Sendable, Equatable {
    /// Proof of possession alone: level `software`.
    case own
    /// Evidence from the TPM's owner, not verified here.
    case tpm2(TPM2Evidence)
}

/// The certification of a key by a TPM's own tools (contract 3.4), sent unchanged.
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

/// The body of a registration (hash-only contract 3.4).
struct Registration {
    var model: String
    var challenge: RegistrationChallenge
    var publicKey: VerifyingKey
    /// Over the challenge's bytes.
    var signature: [UInt8]
    var attestation: KeyAttestation

    var json: [UInt8] {
        let value = JSONValue.object([
            "platform": .string("linux"),
            "model": .string(model),
            "has_lidar": .bool(false),
            "key_attestation": .object(proof + evidence),
        ])
        return WireText.bytes(of: value, for: .mediactl1)
    }

    private var format: String {
        switch attestation {
        case .own: "self"
        case .tpm2: "tpm2"
        }
    }

    private var proof: JSONObject {
        [
            "format": .string(format),
            "public_key": Self.base64(publicKey.sec1),
            "challenge": Self.base64(challenge.bytes),
            "signature": Self.base64(signature),
        ]
    }

    private var evidence: JSONObject {
        guard case .tpm2(let evidence) = attestation else { return [:] }
        return [
            "key_public": Self.base64(evidence.keyPublicArea),
            "ak_public": Self.base64(evidence.attestationKeyPublicArea),
            "certification": Self.base64(evidence.certification),
            "certification_signature": Self.base64(evidence.certificationSignature),
            "ek_certificates": .array(evidence.endorsementCertificates.map(Self.base64)),
        ]
    }

    private static func base64(_ bytes: [UInt8]) -> JSONValue {
        .string(Base64.encoded(bytes))
    }
}
