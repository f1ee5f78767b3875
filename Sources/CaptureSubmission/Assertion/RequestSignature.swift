internal import Foundation
package import MediaCrypto
package import MediaTransport

/// The three header fields of a device (hash-only contract 1.1).
package enum RequestSignature {
    /// Signs a request: clientData is `<timestamp_ms>|<hex SHA-256 of the body>`.
    ///
    /// - Parameters:
    ///   - body: The raw body; empty for GET.
    ///   - device: Who asks.
    ///   - counter: Lower than that of the payload's assertion (M12), never used before.
    ///   - milliseconds: Since 1970, now.
    /// - Returns: `X-Device-Id`, `X-Device-Timestamp`, `X-Device-Signature`.
    /// - Throws: `CaptureError` `.signingFailed`.
    package static func headers(
        body: [UInt8],
        device: CaptureDevice,
        counter: UInt32,
        milliseconds: Int64
    ) async throws(CaptureError) -> [HTTPHeader] {
        try await headers(
            bodyDigest: SHA256Digest.of(body),
            device: device,
            counter: counter,
            milliseconds: milliseconds
        )
    }

    /// The same for a body that is not in memory.
    ///
    /// - Parameters:
    ///   - bodyDigest: SHA-256 of the raw body.
    ///   - device: Who asks.
    ///   - counter: Lower than that of the payload's assertion (M12), never used before.
    ///   - milliseconds: Since 1970, now.
    /// - Returns: `X-Device-Id`, `X-Device-Timestamp`, `X-Device-Signature`.
    /// - Throws: `CaptureError` `.signingFailed`.
    package static func headers(
        bodyDigest: SHA256Digest,
        device: CaptureDevice,
        counter: UInt32,
        milliseconds: Int64
    ) async throws(CaptureError) -> [HTTPHeader] {
        let clientData = "\(milliseconds)|\(bodyDigest.hex)"
        let assertion = try await Assertion.sign(
            SHA256Digest.of(Array(clientData.utf8)),
            rpID: device.rpID,
            counter: counter,
            with: device.signer
        )
        return [
            HTTPHeader("X-Device-Id", device.id),
            HTTPHeader("X-Device-Timestamp", String(milliseconds)),
            HTTPHeader("X-Device-Signature", assertion.base64),
        ]
    }
}

/// This machine as one server knows it.
package struct CaptureDevice: Sendable {
    /// UUID issued at registration.
    package var id: String
    /// The server's profile.
    package var profile: CaptureProfile
    /// The relying party id that assertions name.
    package var rpID: String
    /// How well the key is protected, as the server answered at registration.
    package var level: KeyLevel
    /// The key.
    package var signer: any CaptureSigner

    /// Makes a device.
    ///
    /// - Parameters:
    ///   - id: UUID issued at registration.
    ///   - profile: The server's.
    ///   - rpID: The relying party id that assertions name.
    ///   - level: As the server answered at registration.
    ///   - signer: The key.
    package init(id: String, profile: CaptureProfile, rpID: String, level: KeyLevel, signer: any CaptureSigner) {
        self.id = id
        self.profile = profile
        self.rpID = rpID
        self.level = level
        self.signer = signer
    }
}

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

/// How well the key is protected, as far as a server was shown (contract 3.4). Never anything that is not there.
public enum KeyLevel: String, Sendable, CaseIterable {
    /// A file, or a key whose home was not proven.
    case software
    /// In a TPM 2.0, with the certification of its attestation key.
    case tpm2
    /// Enrolled elsewhere (`reference` with `--device-id`): the server knows, this machine does not.
    case enrolledElsewhere = "enrolled_elsewhere"
}

/// Standard base64 with padding and without line breaks (RFC 4648 section 4; trap 19).
enum Base64 {
    static func encoded(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    /// - Returns: nil for anything that `encoded` would not have written.
    static func decoded(_ text: String) -> [UInt8]? {
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { return nil }
        return Array(data)
    }
}

extension SHA256Digest {
    /// The digest of bytes in memory.
    ///
    /// - Throws: `CaptureError` `.internalError` when OpenSSL cannot.
    package static func of(_ bytes: [UInt8]) throws(CaptureError) -> SHA256Digest {
        do {
            var hasher = try SHA256Hasher()
            bytes.withUnsafeBytes { hasher.update($0) }
            return try hasher.snapshot()
        } catch {
            throw CaptureError(.internalError, detail: error.detail, underlying: error)
        }
    }
}
