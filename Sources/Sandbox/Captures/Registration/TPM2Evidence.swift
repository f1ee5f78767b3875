import COpenSSL

/// What a TPM's attestation key certifies about a signing key (contract 3.4 no. 1).
///
/// It proves that a restricted key, which signs nothing but what its TPM made, vouches for the key: this very key was made
/// inside a TPM and cannot leave it. It does **not** prove that the attestation key is one of a real TPM: for that the
/// server would have to encrypt a secret to the endorsement key that only a TPM holding both keys gives back (credential
/// activation, TPM 2.0 part 1 section 24), and to follow the endorsement certificate to a manufacturer it trusts. Whoever
/// writes the structures with a key of his own passes here.
struct TPM2Evidence {
    /// TPMT_PUBLIC.
    let keyPublic: [UInt8]
    /// TPMT_PUBLIC.
    let attestationKeyPublic: [UInt8]
    /// TPMS_ATTEST.
    let certification: [UInt8]
    /// TPMT_SIGNATURE.
    let signature: [UInt8]
    /// DER, leaf first.
    let endorsementCertificates: [[UInt8]]

    /// Reads the members of `key_attestation`.
    init(_ fields: TypedFields) throws(CaptureRefusal) {
        keyPublic = try fields.bytes("key_public")
        attestationKeyPublic = try fields.bytes("ak_public")
        certification = try fields.bytes("certification")
        signature = try fields.bytes("certification_signature")
        var certificates: [[UInt8]] = []
        for element in try fields.elements("ek_certificates") {
            guard case .string(let text) = element, let der = CaptureAssertion.base64(text) else {
                throw .invalid("ek_certificates must be base64")
            }
            certificates.append(der)
        }
        endorsementCertificates = certificates
    }

    /// Whether all of it fits together and belongs to this key.
    func certifies(_ key: P256PublicKey) -> Bool {
        guard let area = try? TPMPublicArea(keyPublic), let signer = try? TPMPublicArea(attestationKeyPublic),
            let statement = try? TPMCertification(certification),
            let signature = try? TPMSignature(signature)
        else { return false }
        return area.point == key.point && area.isBornInTPM && area.attributes.contains(.sign)
            && signer.isBornInTPM && signer.attributes.isSuperset(of: [.sign, .restricted])
            && statement.name == area.name
            && signature.isValid(of: certification, by: signer)
            && hasCertificates
    }

    /// One at least, and all can be read.
    private var hasCertificates: Bool {
        !endorsementCertificates.isEmpty
            && endorsementCertificates.allSatisfy { der in
                let certificate = der.withUnsafeBufferPointer { bytes in
                    var start = bytes.baseAddress
                    return d2i_X509(nil, &start, bytes.count)
                }
                X509_free(certificate)
                ERR_clear_error()
                return certificate != nil
            }
    }
}
