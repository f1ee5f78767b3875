internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaTransport

/// A TPM's attestation of a signing key (contract 3.4), sent unchanged and not verified here.
public struct TPM2Evidence: Sendable, Equatable {
    /// TPMT_PUBLIC of the signing key.
    public var keyPublicArea: [UInt8]
    /// TPMT_PUBLIC of the attestation key.
    public var attestationKeyPublicArea: [UInt8]
    /// TPMS_ATTEST from TPM2_Certify over the signing key.
    public var certification: [UInt8]
    /// TPMT_SIGNATURE by the attestation key over `certification`.
    public var certificationSignature: [UInt8]
    /// DER certificates, leaf first.
    public var endorsementCertificates: [[UInt8]]
    /// The proof that the attestation key is currently in a TPM. Without it, the other evidence could be forged in
    /// software, and servers must not return the level `tpm2`.
    public var activation: TPM2Activation?

    public init(
        keyPublicArea: [UInt8],
        attestationKeyPublicArea: [UInt8],
        certification: [UInt8],
        certificationSignature: [UInt8],
        endorsementCertificates: [[UInt8]],
        activation: TPM2Activation? = nil
    ) {
        self.keyPublicArea = keyPublicArea
        self.attestationKeyPublicArea = attestationKeyPublicArea
        self.certification = certification
        self.certificationSignature = certificationSignature
        self.endorsementCertificates = endorsementCertificates
        self.activation = activation
    }

    /// The members of `key_attestation` for format `tpm2`.
    var members: JSONObject {
        let certified: JSONObject = [
            "key_public": .base64(keyPublicArea),
            "ak_public": .base64(attestationKeyPublicArea),
            "certification": .base64(certification),
            "certification_signature": .base64(certificationSignature),
            "ek_certificates": .array(endorsementCertificates.map(JSONValue.base64)),
        ]
        guard let activation else { return certified }
        return certified + [
            "activation_secret": .base64(activation.secret),
            "quote": .base64(activation.quote),
            "quote_signature": .base64(activation.quoteSignature),
        ]
    }
}

/// The proof that an attestation key is in the TPM of an endorsement certificate (TPM 2.0 Library Part 1, section 24),
/// and was used after the server issued its challenge.
public struct TPM2Activation: Sendable, Equatable {
    /// The secret in the server's credential, which only that TPM can decrypt.
    public var secret: [UInt8]
    /// TPMS_ATTEST from TPM2_Quote with the challenge as qualifying data.
    public var quote: [UInt8]
    /// TPMT_SIGNATURE by the attestation key over `quote`.
    public var quoteSignature: [UInt8]

    public init(secret: [UInt8], quote: [UInt8], quoteSignature: [UInt8]) {
        self.secret = secret
        self.quote = quote
        self.quoteSignature = quoteSignature
    }
}

/// A secret from the server, encrypted to an endorsement key and bound to the name of an attestation key.
package struct TPM2Credential: Sendable, Equatable {
    /// TPM2B_ID_OBJECT.
    package var idObject: [UInt8]
    /// TPM2B_ENCRYPTED_SECRET.
    package var encryptedSecret: [UInt8]

    /// The file format that `tpm2_activatecredential -i` reads: a magic number and version 1, then both structures.
    package var toolFile: [UInt8] { [0xBA, 0xDC, 0xC0, 0xDE, 0, 0, 0, 1] + idObject + encryptedSecret }

    /// Maximum length in bytes, far larger than any credential.
    private static let longestMember = 4096

    init(reading response: HTTPResponse) throws(CaptureError) {
        let data = try CaptureResponse.data(of: response, status: 200)
        func member(_ name: String) throws(CaptureError) -> [UInt8] {
            guard let bytes = data[name]?.text.flatMap(Base64.decoded), (3...Self.longestMember).contains(bytes.count)
            else { throw CaptureResponse.unusable(name, response) }
            return bytes
        }
        idObject = try member("id_object")
        encryptedSecret = try member("encrypted_secret")
    }
}

extension CaptureClient {
    /// `POST /api/v1/devices/credential`: requests a secret for the TPM with this endorsement certificate and this
    /// attestation key (TPMT_PUBLIC). Only a registration with the same challenge can use it. Has no side effects.
    ///
    /// - Throws: `.enrolmentImpossible` if the server does not trust the certificate or has no such route.
    package func credential(
        for attestationKey: [UInt8],
        endorsementCertificates: [[UInt8]],
        challenge: RegistrationChallenge
    ) async throws(CaptureError) -> TPM2Credential {
        let value = JSONValue.object([
            "challenge": .base64(challenge.bytes),
            "ak_public": .base64(attestationKey),
            "ek_certificates": .array(endorsementCertificates.map(JSONValue.base64)),
        ])
        let body = BytesBody(WireText.bytes(of: value, for: .mediactl1))
        let response: HTTPResponse
        do {
            response = try await http.execute(posting(body, to: "/api/v1/devices/credential"))
        } catch {
            throw CaptureError(reading: error)
        }
        guard response.status != 404, response.status != 405 else {
            throw CaptureError(
                .enrolmentImpossible,
                detail: "the server does not support TPM attestation",
                httpStatus: response.status
            )
        }
        return try TPM2Credential(reading: response)
    }
}

extension JSONValue {
    static func base64(_ bytes: [UInt8]) -> JSONValue { .string(Base64.encoded(bytes)) }
}
