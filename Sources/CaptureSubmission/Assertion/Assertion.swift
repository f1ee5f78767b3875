public import MediaCrypto

/// Proof that a key holder stands behind a digest (hash-only contract 3.1): a CBOR map of authenticator data and signature.
public struct Assertion: Sendable, Equatable {
    /// rpIdHash (32) ‖ flags (1) ‖ counter (4, big-endian).
    public var authenticatorData: [UInt8]
    /// ECDSA P-256 with SHA-256 over `authenticatorData` ‖ clientDataHash: 64 bytes, r‖s. Always this form, so that the
    /// length of a body is known before it is signed.
    public var signature: [UInt8]

    /// Makes an assertion.
    public init(authenticatorData: [UInt8], signature: [UInt8]) {
        self.authenticatorData = authenticatorData
        self.signature = signature
    }

    /// Reads one (RFC 8949), keys in any order.
    ///
    /// - Returns: nil for anything that a server would refuse.
    public init?(base64: String) {
        nil
    }

    /// Standard padded base64 of the CBOR.
    public var base64: String { "" }

    /// As long as every assertion's base64, and plainly none: what a dry run shows.
    public static var placeholder: String { "" }

    /// The signature counter; nil for authenticator data that are too short.
    public var counter: UInt32? { nil }

    /// Signs a digest.
    ///
    /// - Parameters:
    ///   - clientDataHash: SHA-256 of the signed bytes.
    ///   - rpID: The server's relying party id; hashed.
    ///   - counter: Never used before.
    ///   - signer: The key.
    /// - Returns: The assertion.
    /// - Throws: `CaptureError` `.signingFailed`.
    public static func sign(
        _ clientDataHash: SHA256Digest,
        rpID: String,
        counter: UInt32,
        with signer: any CaptureSigner
    ) async throws(CaptureError) -> Assertion {
        throw CaptureError(.internalError)
    }

    /// Whether key and digest fit.
    public func isValid(for clientDataHash: SHA256Digest, rpID: String, key: VerifyingKey) -> Bool {
        false
    }
}

/// A P-256 key that can sign, wherever it lies.
public protocol CaptureSigner: Sendable {
    /// Its public half.
    var publicKey: VerifyingKey { get }

    /// Signs a message: ECDSA with SHA-256.
    ///
    /// Cancelling ends a signing program.
    ///
    /// - Parameter message: Hashed by the signer.
    /// - Returns: 64 bytes, r‖s (big-endian, padded).
    /// - Throws: `CaptureError` `.signingFailed`.
    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8]
}

/// How well the key is protected, as far as a server was shown (contract 3.4). Never anything that is not there.
public enum KeyLevel: String, Sendable, CaseIterable {
    /// A file, or a key whose home was not proven.
    case software
    /// In a TPM 2.0, with the certification of its attestation key.
    case tpm2
    /// Enrolled elsewhere (`reference` with `--device-id`): the server knows, this machine does not.
    case enrolledElsewhere = "enrolled_elsewhere"
}
