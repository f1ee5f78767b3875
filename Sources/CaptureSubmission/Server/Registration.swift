internal import MediaCrypto

/// The body of a registration (hash-only contract 3.4): what this machine is, and nothing that it is not.
struct Registration {
    var model: String
    var challenge: RegistrationChallenge
    var publicKey: VerifyingKey
    /// Over the challenge's bytes.
    var signature: [UInt8]
    var attestation: KeyAttestation

    /// UTF-8.
    var json: [UInt8] {
        let value = WireValue.object([
            .init("platform", .string("linux")),
            .init("model", .string(model)),
            .init("has_lidar", .bool(false)),
            .init("key_attestation", .object(proof + evidence)),
        ])
        return WireText.bytes(of: value, for: .mediactl1)
    }

    private var format: String {
        switch attestation {
        case .own: "self"
        case .tpm2: "tpm2"
        }
    }

    private var proof: [WireValue.Member] {
        [
            .init("format", .string(format)),
            .init("public_key", Self.base64(publicKey.sec1)),
            .init("challenge", Self.base64(challenge.bytes)),
            .init("signature", Self.base64(signature)),
        ]
    }

    private var evidence: [WireValue.Member] {
        guard case .tpm2(let evidence) = attestation else { return [] }
        return [
            .init("key_public", Self.base64(evidence.keyPublicArea)),
            .init("ak_public", Self.base64(evidence.attestationKeyPublicArea)),
            .init("certification", Self.base64(evidence.certification)),
            .init("certification_signature", Self.base64(evidence.certificationSignature)),
            .init("ek_certificates", .array(evidence.endorsementCertificates.map(Self.base64))),
        ]
    }

    private static func base64(_ bytes: [UInt8]) -> WireValue {
        .string(Base64.encoded(bytes))
    }
}
