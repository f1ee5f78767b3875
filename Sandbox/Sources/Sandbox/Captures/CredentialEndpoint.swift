import HTTPTypes

/// A secret that only the TPM with both keys can decrypt.
struct TPMActivation {
    let attestationKeyName: [UInt8]
    let secret: [UInt8]
}

/// `POST /api/v1/devices/credential` of `mediactl-1`: credential activation (TPM 2.0 part 1 section 24; ADR 0045).
struct CredentialEndpoint {
    let catalog: CaptureCatalog
    let challenges: ChallengeBook

    func issue(_ received: JSONValue) throws -> JSONValue {
        let request = try TypedFields(received, "the body")
        let challenge = try request.bytes("challenge")
        guard let attestationKey = try? TPMPublicArea(try request.bytes("ak_public")), attestationKey.isAttestationKey
        else { throw CaptureRefusal.invalid("ak_public must be an attestation key of a TPM") }
        let certificates = try TPM2Evidence.certificates(request)
        guard !certificates.isEmpty else { throw CaptureRefusal.invalid("ek_certificates must not be empty") }
        guard let key = catalog.settings.tpmAuthorities.endorsementKey(of: certificates) else {
            throw CaptureRefusal(.forbidden, "UNTRUSTED_ATTESTATION", "Endorsement certificate is not trusted")
        }
        let secret = randomBytes(32)
        guard let credential = TPMCredential(secret, for: attestationKey.name, to: key) else {
            throw CaptureRefusal.invalid("the endorsement key must be RSA or P-256")
        }
        let activation = TPMActivation(attestationKeyName: attestationKey.name, secret: secret)
        try challenges.bind(activation, to: challenge, at: catalog.settings.now)
        return [
            "id_object": .string(base64(credential.idObject)),
            "encrypted_secret": .string(base64(credential.encryptedSecret)),
        ]
    }
}
