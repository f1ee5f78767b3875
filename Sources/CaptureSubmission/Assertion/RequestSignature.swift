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
