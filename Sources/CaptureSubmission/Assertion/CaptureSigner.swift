package import MediaCrypto

/// A P-256 key that can sign, wherever it lies.
package protocol CaptureSigner: Sendable {
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
