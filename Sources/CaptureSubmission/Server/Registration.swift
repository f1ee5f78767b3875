internal import MediaCore
internal import MediaCrypto

/// The body of a registration (hash-only contract 3.4).
struct Registration {
    var model: String
    var challenge: RegistrationChallenge
    var publicKey: VerifyingKey
    /// Signature over the challenge's bytes.
    var signature: [UInt8]
    /// Without it, or without its activation, only possession of the key is proven: level `software`.
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
            "public_key": .base64(publicKey.sec1),
            "challenge": .base64(challenge.bytes),
            "signature": .base64(signature),
        ]
        return evidence.map { proof + $0.members } ?? proof
    }
}
