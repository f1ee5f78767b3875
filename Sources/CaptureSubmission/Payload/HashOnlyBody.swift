internal import MediaCore
package import MediaCrypto

/// The complete body of a hash-only request: fewer than 10,240 bytes, so it cannot contain media (hash-only contract
/// 1.2). The sending code does not accept any other type.
public struct HashOnlyBody: Sendable, Equatable {
    /// The limit in bytes; every body is smaller than this.
    public static let byteLimit = 10_240

    /// UTF-8 JSON, exactly as sent.
    public let bytes: [UInt8]

    /// Wraps a body that was built or stored earlier; nil if it is empty or not below the limit.
    public init?(bytes: [UInt8]) {
        guard !bytes.isEmpty, bytes.count < Self.byteLimit else { return nil }
        self.bytes = bytes
    }
}

extension HashOnlyPayload {
    /// The signed bytes: RFC 8785 of the body without the assertion, or contract 2.1.
    ///
    /// Numbers in depth analyses are first rounded to binary32; for `reference`, coordinates are first rounded to 15
    /// significant digits, the most that its parser reads exactly.
    ///
    /// - Throws: `.internalError` for a non-finite number and for values that the profile does not support (a city on
    ///   `reference`), `.videoMembersMissing` for a video without its members.
    package func signedBytes(for profile: CaptureProfile) throws(CaptureError) -> [UInt8] {
        WireText.bytes(of: .object(try signedMembers(for: profile)), for: profile)
    }

    /// The SHA-256 of `signedBytes`, which an assertion of this payload signs.
    package func clientDataHash(for profile: CaptureProfile) throws(CaptureError) -> SHA256Digest {
        try SHA256Digest.of(signedBytes(for: profile))
    }

    /// The body with an assertion: standard padded base64 (contract 3.1), or a placeholder of the same length. Numbers
    /// have the same form as in the signed bytes.
    ///
    /// - Throws: `.payloadTooLarge` with the sizes of its parts; `.internalError` if the finished body, parsed again,
    ///   does not yield the signed bytes (contract 2.3); errors from `signedBytes`.
    package func body(for profile: CaptureProfile, assertion: String) throws(CaptureError) -> HashOnlyBody {
        let value = try bodyValue(for: profile, assertion: assertion)
        let bytes = WireText.bytes(of: value, for: profile)
        guard let body = HashOnlyBody(bytes: bytes) else { throw Self.tooLarge(bytes, value, profile) }
        try Self.check(body, against: signedBytes(for: profile), for: profile)
        return body
    }

    /// Prevents sending a body from which the server would derive different signed bytes (contract 2.3).
    static func check(
        _ body: HashOnlyBody,
        against signed: [UInt8],
        for profile: CaptureProfile
    ) throws(CaptureError) {
        guard SignedBytes.rebuilt(from: body.bytes, for: profile) == signed else {
            throw CaptureError(.internalError, detail: "the body does not match the signed bytes")
        }
    }

    private static func tooLarge(_ bytes: [UInt8], _ value: JSONValue, _ profile: CaptureProfile) -> CaptureError {
        let parts = (value.members ?? [:]).map { member in
            // The length of an object with only this member, without the braces.
            (name: member.name, byteCount: WireText.bytes(of: .object(JSONObject([member])), for: profile).count - 2)
        }
        return CaptureError(
            .payloadTooLarge,
            detail: "\(bytes.count) bytes; a body has at most \(HashOnlyBody.byteLimit - 1)"
        ).with(\.parts, parts)
    }
}
