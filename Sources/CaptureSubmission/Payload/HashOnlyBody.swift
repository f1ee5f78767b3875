/// The complete body of a hash-only request: fewer than 10,240 bytes, so it cannot hold media (hash-only contract 1.2).
/// The only thing that the sending code takes.
public struct HashOnlyBody: Sendable, Equatable {
    /// The limit; a body is smaller.
    public static let byteLimit = 10_240

    /// UTF-8 JSON, exactly as sent.
    public let bytes: [UInt8]

    /// Takes a body that was built or kept earlier.
    ///
    /// - Returns: nil for one that is empty or not below the limit.
    public init?(bytes: [UInt8]) {
        guard !bytes.isEmpty, bytes.count < Self.byteLimit else { return nil }
        self.bytes = bytes
    }
}

extension HashOnlyPayload {
    /// The bytes that are signed: RFC 8785 of everything but the assertion, or contract 2.1.
    public func signedBytes(for profile: CaptureProfile) -> [UInt8] {
        []
    }

    /// The body with an assertion, numbers spelled as in the signed bytes.
    ///
    /// - Parameters:
    ///   - profile: The server's.
    ///   - assertion: Standard padded base64 (contract 3.1), or a placeholder of the same length.
    /// - Returns: The body.
    /// - Throws: `CaptureError` `.payloadTooLarge` with the sizes of its parts; `.internalError` when the finished body, read
    ///   again, does not give the signed bytes (contract 2.3).
    public func body(for profile: CaptureProfile, assertion: String) throws(CaptureError) -> HashOnlyBody {
        throw CaptureError(.internalError)
    }

    /// Reads a body that was built here.
    ///
    /// - Returns: The payload and the assertion, as base64.
    /// - Throws: `CaptureError` `.recordUnusable` for anything else.
    public static func reading(
        _ body: HashOnlyBody,
        profile: CaptureProfile
    ) throws(CaptureError) -> (payload: HashOnlyPayload, assertion: String) {
        throw CaptureError(.internalError)
    }
}
