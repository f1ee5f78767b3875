internal import Foundation
package import MediaCrypto
package import MediaTransport

/// The three header fields that authenticate a device (hash-only contract 1.1).
package enum RequestSignature {
    /// Signs a request: clientData is `<timestamp_ms>|<hex SHA-256 of the body>`. `bodyDigest` is the digest of the raw
    /// body, which is empty for GET. `counter` must be unused and lower than the counter in the payload's assertion
    /// (M12). `milliseconds` is the current time since 1970.
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

/// This machine's registration with one server.
package struct CaptureDevice: Sendable {
    /// A UUID issued at registration.
    package var id: String
    package var profile: CaptureProfile
    /// The relying party ID of assertions.
    package var rpID: String
    /// The key level from the server's response at registration.
    package var level: KeyLevel
    package var signer: any CaptureSigner

    package init(id: String, profile: CaptureProfile, rpID: String, level: KeyLevel, signer: any CaptureSigner) {
        self.id = id
        self.profile = profile
        self.rpID = rpID
        self.level = level
        self.signer = signer
    }
}

/// A P-256 signing key, wherever it is stored.
package protocol CaptureSigner: Sendable {
    var publicKey: VerifyingKey { get }

    /// Signs a message with ECDSA and SHA-256: 64 bytes, r‖s (big-endian, padded). Cancellation stops a signing
    /// program.
    func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8]
}

/// The protection of the key, as shown to the server (contract 3.4). Never higher than proven.
public enum KeyLevel: String, Sendable, CaseIterable {
    /// A key in a file, or a key without proof of where it is stored.
    case software
    /// A key in a TPM 2.0, certified by its attestation key.
    case tpm2
    /// Enrolled elsewhere (`reference` with `--device-id`): the server knows the level, but this machine does not.
    case enrolledElsewhere = "enrolled_elsewhere"
}

/// Standard base64 with padding and without line breaks (RFC 4648 section 4; trap 19).
enum Base64 {
    static func encoded(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    /// - Returns: nil for input that `encoded` would not have written.
    static func decoded(_ text: String) -> [UInt8]? {
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { return nil }
        return Array(data)
    }
}

extension SHA256Digest {
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
