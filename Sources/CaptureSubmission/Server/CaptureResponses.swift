internal import Foundation
internal import MediaCore
internal import MediaCrypto
package import MediaTransport
internal import Outcomes

/// `GET /api/v1/devices/challenge` (hash-only contract 3.2).
package struct RegistrationChallenge: Sendable, Equatable {
    /// 32 bytes.
    package var bytes: [UInt8]
}

/// `201` in response to a registration.
package struct RegistrationResponse: Sendable, Equatable {
    /// UUID.
    package var deviceID: String
    /// The level as sent: `software`, `tpm2`, …
    package var attestationLevel: String
}

package enum SubmissionResponse: Sendable, Equatable {
    /// 202.
    case accepted(captureID: String, verificationURL: String?)
    /// 409 with an ID or the code of a duplicate: already on the server. The ID is sent only to the device that owns the
    /// capture (contract 3.4 no. 4).
    case duplicate(captureID: String?)
}

/// A capture as reported to its owner (contract 6.2).
public struct RemoteCapture: Sendable, Equatable {
    /// Lowercase UUID.
    public var captureID: String
    /// `hash_only` or `full`.
    public var captureMode: String?
    /// `complete`, …
    public var status: String?
    /// Lowercase hexadecimal.
    public var mediaHash: String?
    /// Whether the server has the media.
    public var isMediaStored: Bool?
    /// `high`, `medium`, `low` or `suspicious`.
    public var confidenceLevel: String?
    /// RFC 3339, as sent: up to nine fraction digits, any offset (trap 10).
    public var capturedAt: String?
    /// Like `capturedAt`.
    public var uploadedAt: String?
    /// http or https; nil for other URLs.
    public var verificationURL: String?
}

extension RegistrationChallenge {
    init(reading response: HTTPResponse) throws(CaptureError) {
        let data = try CaptureResponse.data(of: response, status: 200)
        guard let bytes = data["challenge"]?.text.flatMap(Base64.decoded), bytes.count == 32 else {
            throw CaptureResponse.unusable("challenge", response)
        }
        self.init(bytes: bytes)
    }
}

extension RegistrationResponse {
    /// - Throws: `.unknownOutcome` for a 201 that cannot be parsed: the device then exists.
    init(reading response: HTTPResponse) throws(CaptureError) {
        let data = try CaptureResponse.data(of: response, status: 201, call: .registration(isWhole: true))
        guard let deviceID = data["device_id"].flatMap(CaptureResponse.identifier),
            let level = data["attestation_level"]?.text
        else { throw CaptureResponse.lost("the server registered a device but returned no ID", response) }
        self.init(deviceID: deviceID, attestationLevel: ServerText.cut(level))
    }
}

extension SubmissionResponse {
    /// Parses the response for a capture, hash-only or full (contract 1.3, 3.4 no. 4, 7). Throws as
    /// `CaptureClient.submit` does.
    package init(reading response: HTTPResponse) throws(CaptureError) {
        switch response.status {
        case 202:
            let data = CaptureResponse.members(of: response)["data"]?.members ?? [:]
            guard let id = data["capture_id"].flatMap(CaptureResponse.identifier) else {
                throw CaptureResponse.lost("the server accepted the capture but returned no ID", response)
            }
            self = .accepted(captureID: id, verificationURL: data["verification_url"].flatMap(CaptureResponse.address))
        case 200..<300:
            throw CaptureResponse.lost("unexpected response to a capture", response)
        case 409:
            let id = CaptureResponse.existingID(in: CaptureResponse.members(of: response))
            let refusal = CaptureRefusal(response.head, body: response.body)
            // 409 is also sent for other conflicts, and by proxies.
            guard id != nil || refusal.serverCode == "DUPLICATE_CAPTURE" else { fallthrough }
            self = .duplicate(captureID: id)
        default:
            throw CaptureRefusal(response.head, body: response.body)
                .error(of: .submission(isWhole: response.metrics.bodyComplete))
        }
    }
}

extension RemoteCapture {
    init(reading response: HTTPResponse) throws(CaptureError) {
        let data = try CaptureResponse.data(of: response, status: 200)
        guard let id = data["capture_id"].flatMap(CaptureResponse.identifier) else {
            throw CaptureResponse.unusable("capture_id", response)
        }
        let text = { (name: String) in data[name]?.text.map(ServerText.cut) }
        self.init(
            captureID: id,
            captureMode: text("capture_mode"),
            status: text("status"),
            mediaHash: data["media_hash"]?.text.flatMap { SHA256Digest(hex: $0) }?.hex,
            isMediaStored: data["media_stored"]?.flag,
            confidenceLevel: text("confidence_level"),
            capturedAt: text("captured_at"),
            uploadedAt: text("uploaded_at"),
            verificationURL: data["verification_url"].flatMap(CaptureResponse.address)
        )
    }
}

/// Parses parts of the server's responses. Times remain text: they may have nine fraction digits, or an offset (trap
/// 10).
enum CaptureResponse {
    /// The members of the response's object, regardless of its `Content-Type`; empty for other content.
    static func members(of response: HTTPResponse) -> JSONObject {
        JSONValue.object(in: response.body[...]) ?? [:]
    }

    /// The `data` member of a successful response.
    static func data(
        of response: HTTPResponse,
        status: Int,
        call: OutcomeTable.Call = .other
    ) throws(CaptureError) -> JSONObject {
        guard response.status == status else {
            throw CaptureRefusal(response.head, body: response.body).error(of: call)
        }
        return members(of: response)["data"]?.members ?? [:]
    }

    /// Parses a UUID, and converts it to lowercase.
    static func identifier(_ value: JSONValue) -> String? {
        value.text.flatMap { UUID(uuidString: $0) }.map { $0.uuidString.lowercased() }
    }

    /// A URL that may be shown and opened: http or https with a host, printable ASCII.
    static func address(_ value: JSONValue) -> String? {
        guard let text = value.text, text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }),
            let rest = text.firstMatch(of: /^https?:\/\/([^\/?#@]+)(?:[\/?#].*)?$/.ignoresCase()),
            !rest.1.isEmpty
        else { return nil }
        return text
    }

    /// The ID of an existing capture, wherever the server puts it (contract 3.4 no. 4 does not specify where).
    static func existingID(in members: JSONObject) -> String? {
        let error = members["error"]?.members
        let places = [error?["details"]?.members, error, members["data"]?.members, members]
        return places.lazy.compactMap { $0?["capture_id"].flatMap(identifier) }.first
    }

    /// The error for a response without a required member.
    static func unusable(_ name: String, _ response: HTTPResponse) -> CaptureError {
        CaptureError(.unexpectedResponse, detail: "\"\(name)\" is missing or invalid", httpStatus: response.status)
    }

    /// The error for a successful operation whose response does not identify the result.
    static func lost(_ detail: String, _ response: HTTPResponse) -> CaptureError {
        CaptureError(.unknownOutcome, detail: detail, httpStatus: response.status)
    }
}
