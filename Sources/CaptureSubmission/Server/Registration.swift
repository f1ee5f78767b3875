internal import MediaCore
internal import MediaCrypto

/// The certification of a key by a TPM's own tools (contract 3.4), sent unchanged and not verified here.
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
    /// Without it, the possession of the key alone is proven: level `software`.
    var evidence: TPM2Evidence?

    var json: [UInt8] {
        let value = JSONValue.object([
            "platform": .string("linux"),
            "model": .string(model),
            "has_lidar": .bool(false),
            "key_attestation": .object(attestation),
        ])
        return WireText.bytes(of: value, for: .mediactl1)
    }

    private var attestation: JSONObject {
        let proof: JSONObject = [
            "format": .string(evidence == nil ? "self" : "tpm2"),
            "public_key": Self.base64(publicKey.sec1),
            "challenge": Self.base64(challenge.bytes),
            "signature": Self.base64(signature),
        ]
        guard let evidence else { return proof }
        return proof + [
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
