internal import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaStore

/// What somebody needs to check a capture without this program and without the server: the exact body, the bytes that
/// were signed, the signature and the public key. There is nothing secret in it, but time and place as they were told.
struct CaptureBundle: Sendable {
    private let record: CaptureRecord
    private let body: [UInt8]
    private let signedBytes: [UInt8]
    private let assertion: Assertion
    private let key: [UInt8]

    /// Puts a bundle together.
    ///
    /// - Throws: `CaptureError` `.recordUnusable` for a record whose body is damaged; `Diagnosis` for one that is not signed.
    init(_ record: CaptureRecord) throws {
        guard let bytes = record.body, let key = record.publicKey else {
            throw Diagnosis(
                "not_signed",
                "capture \(record.id.prefix(8)) is not signed yet, so that there is nothing to check",
                hint: "mediactl hash-only retry \(record.id.prefix(8)) signs and sends it",
                exitCode: .conflict
            )
        }
        guard let profile = CaptureProfile(rawValue: record.profile), let body = HashOnlyBody(bytes: bytes) else {
            throw CaptureError(.recordUnusable, value: record.id)
        }
        let (payload, text) = try HashOnlyPayload.reading(body, profile: profile)
        guard let assertion = Assertion(base64: text), assertion.signature.count == 64, key.count == 65 else {
            throw CaptureError(.recordUnusable, detail: "its assertion cannot be read", value: record.id)
        }
        self.record = record
        self.body = bytes
        self.key = key
        self.assertion = assertion
        signedBytes = try payload.signedBytes(for: profile)
    }

    /// The bundle, as `docs/schemas/hash-only-bundle-1.json` has it.
    var json: JSONValue {
        .object([
            "schema": "mediactl.hash-only-bundle/1", "capture_id": .string(record.id),
            "server": .string(record.server), "server_capture_id": JSONValue(record.serverCaptureID),
            "profile": .string(record.profile), "rp_id": JSONValue(record.rpID),
            "device_id": JSONValue(record.deviceID),
            "level": JSONValue(record.keyLevel), "counter": JSONValue(assertion.counter.map { Int64($0) }),
            "media_hash": .string(record.mediaHash), "observed": .bool(record.isObserved),
            "created_at": JSONRenderer.time(record.createdAt),
            "submitted_at": JSONRenderer.time(record.submittedAt), "body": base64(body),
            "signed_bytes": base64(signedBytes), "authenticator_data": base64(assertion.authenticatorData),
            "signature": base64(Self.der(assertion.signature)), "public_key": .string(Self.pem(key)),
        ])
    }

    private func base64(_ bytes: [UInt8]) -> JSONValue { .string(Data(bytes).base64EncodedString()) }

    // MARK: Forms that openssl reads

    /// `Ecdsa-Sig-Value` (RFC 3279 section 2.2.3) of r‖s.
    static func der(_ signature: [UInt8]) -> [UInt8] {
        let numbers = integer(signature.prefix(32)) + integer(signature.suffix(32))
        return [0x30, UInt8(numbers.count)] + numbers
    }

    /// A positive INTEGER without needless zeros (X.690, 8.3).
    private static func integer(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var digits = Array(bytes.drop { $0 == 0 })
        if digits.first.map({ $0 >= 0x80 }) ?? true {
            digits.insert(0, at: 0)
        }
        return [0x02, UInt8(digits.count)] + digits
    }

    /// `SubjectPublicKeyInfo` (RFC 5480) of an uncompressed point of P-256.
    static func pem(_ point: [UInt8]) -> String {
        let head: [UInt8] = [
            0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
            0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
        ]
        let text = Data(head + point).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n"
    }
}
