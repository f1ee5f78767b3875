public import MediaCrypto
public import MediaTransport

/// The three header fields of a device (hash-only contract 1.1).
public enum RequestSignature {
    /// Signs a request: clientData is `<timestamp_ms>|<hex SHA-256 of the body>`.
    ///
    /// - Parameters:
    ///   - body: The raw body; empty for GET.
    ///   - device: Who asks.
    ///   - counter: Lower than that of the payload's assertion (M12), never used before.
    ///   - milliseconds: Since 1970, now.
    /// - Returns: `X-Device-Id`, `X-Device-Timestamp`, `X-Device-Signature`.
    /// - Throws: `CaptureError` `.signingFailed`.
    public static func headers(
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
    public static func headers(
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
public struct CaptureDevice: Sendable {
    /// UUID issued at registration.
    public var id: String
    /// The server's profile.
    public var profile: CaptureProfile
    /// The relying party id that assertions name.
    public var rpID: String
    /// How well the key is protected, as the server answered at registration.
    public var level: KeyLevel
    /// The key.
    public var signer: any CaptureSigner

    /// Makes a device.
    ///
    /// - Parameters:
    ///   - id: UUID issued at registration.
    ///   - profile: The server's.
    ///   - rpID: The relying party id that assertions name.
    ///   - level: As the server answered at registration.
    ///   - signer: The key.
    public init(id: String, profile: CaptureProfile, rpID: String, level: KeyLevel, signer: any CaptureSigner) {
        self.id = id
        self.profile = profile
        self.rpID = rpID
        self.level = level
        self.signer = signer
    }
}
