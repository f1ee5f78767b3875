package import MediaCrypto

/// Proof that a key holder stands behind a digest (hash-only contract 3.1): a CBOR map of authenticator data and signature.
package struct Assertion: Sendable, Equatable {
    /// rpIdHash (32) ‖ flags (1) ‖ counter (4, big-endian).
    package var authenticatorData: [UInt8]
    /// ECDSA P-256 with SHA-256 over `authenticatorData` ‖ clientDataHash: 64 bytes, r‖s. Always this form, so that the
    /// length of a body is known before it is signed.
    package var signature: [UInt8]

    /// Makes an assertion.
    ///
    /// - Parameters:
    ///   - authenticatorData: 37 bytes.
    ///   - signature: 64 bytes.
    package init(authenticatorData: [UInt8], signature: [UInt8]) {
        self.authenticatorData = authenticatorData
        self.signature = signature
    }

    /// Reads one (RFC 8949): keys in any order, further keys ignored, definite lengths only.
    ///
    /// Gives nil for anything that a server would refuse before it looks at the signature.
    ///
    /// - Parameter base64: Standard alphabet, padded, without line breaks.
    package init?(base64: String) {
        guard base64.utf8.count <= Self.longestText, let cbor = Base64.decoded(base64),
            let assertion = AssertionCBOR.decoded(cbor),
            assertion.authenticatorData.count >= Self.authenticatorDataLength, !assertion.signature.isEmpty
        else { return nil }
        self = assertion
    }

    /// Standard padded base64 of the CBOR.
    package var base64: String { Base64.encoded(AssertionCBOR.encoded(self)) }

    /// As long as every assertion's base64, and plainly none: what a dry run shows. Its bytes are no CBOR map.
    package static var placeholder: String {
        String(repeating: "PLACEHOLDER/NO/ASSERTION/", count: 7) + "NONE="
    }

    /// The signature counter; nil for authenticator data that are too short.
    package var counter: UInt32? {
        guard authenticatorData.count >= Self.authenticatorDataLength else { return nil }
        return authenticatorData[33..<37].reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Signs a digest.
    ///
    /// - Parameters:
    ///   - clientDataHash: SHA-256 of the signed bytes.
    ///   - rpID: The server's relying party id; hashed.
    ///   - counter: Never used before.
    ///   - signer: The key.
    /// - Returns: The assertion.
    /// - Throws: `CaptureError` `.signingFailed`, also for a signature that the signer's own public key does not fit.
    package static func sign(
        _ clientDataHash: SHA256Digest,
        rpID: String,
        counter: UInt32,
        with signer: any CaptureSigner
    ) async throws(CaptureError) -> Assertion {
        let authenticatorData = try authenticatorData(rpID: rpID, counter: counter)
        let message = authenticatorData + clientDataHash.bytes
        let signature = try await signer.sign(message)
        guard signature.count == signatureLength else {
            throw CaptureError(.signingFailed, detail: "the signature has \(signature.count) bytes, not 64")
        }
        guard signer.publicKey.isValid(signature, of: message) else {
            throw CaptureError(.signingFailed, detail: "the signature is not of the key that it should be of")
        }
        return Assertion(authenticatorData: authenticatorData, signature: signature)
    }

    /// Whether digest, relying party and key fit.
    ///
    /// - Parameters:
    ///   - clientDataHash: SHA-256 of the signed bytes.
    ///   - rpID: The server's relying party id.
    ///   - key: The device's.
    /// - Returns: Whether a server would accept it, its counter aside.
    package func isValid(for clientDataHash: SHA256Digest, rpID: String, key: VerifyingKey) -> Bool {
        guard let rpIDHash = try? SHA256Digest.of(Array(rpID.utf8)), authenticatorData.starts(with: rpIDHash.bytes),
            authenticatorData.count >= Self.authenticatorDataLength
        else { return false }
        return key.isValid(signature, of: authenticatorData + clientDataHash.bytes)
    }

    // MARK: Parts

    private static let authenticatorDataLength = 37
    private static let signatureLength = 64
    /// In characters: many times what an assertion has.
    private static let longestText = 8192

    /// No flag is set: nobody's presence was tested.
    private static func authenticatorData(rpID: String, counter: UInt32) throws(CaptureError) -> [UInt8] {
        let flags: UInt8 = 0
        let bigEndian = [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: counter >> $0) }
        return try SHA256Digest.of(Array(rpID.utf8)).bytes + [flags] + bigEndian
    }
}
