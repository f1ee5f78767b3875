internal import Foundation
internal import MediaCore
package import MediaCrypto
public import MediaTransport

/// Requests to, and responses from, one capture server (hash-only contract); stateless.
///
/// A submission or a registration reaches the server at most once per call. A signed query is also sent only once per
/// call, since its counter is valid for only one request: after a failure, the caller repeats it with a new counter.
/// Every method throws `CaptureError`; a canceled task or a stopped `control` results in `.cancelled`, or in
/// `.unknownOutcome` if the whole body was sent. Redirects are not followed (`.redirected`).
public struct CaptureClient: Sendable {
    /// The server's address, optionally with a base path.
    public let server: ServerURL
    let http: HTTPClient
    package let timeouts: TransferTimeouts

    public init(server: ServerURL, http: HTTPClient, timeouts: TransferTimeouts = TransferTimeouts()) {
        self.server = server
        self.http = http
        self.timeouts = timeouts
    }

    /// `GET /api/v1/devices/challenge`: 32 bytes to sign, valid once.
    package func challenge() async throws(CaptureError) -> RegistrationChallenge {
        let response = try await question("/api/v1/devices/challenge", repeatability: .safe)
        return try RegistrationChallenge(reading: response)
    }

    /// `POST /api/v1/devices/register` with the platform `linux` (contract 3.4): never a different platform, never
    /// LiDAR. `model` is shown by the server and must not be blank; `challenge` must be fresh.
    ///
    /// - Throws: `.alreadyRegistered`; `.enrolmentImpossible` if the server does not support `linux` or this kind of
    ///   evidence; `.unknownOutcome` if the response was lost: the device may then exist.
    package func register(
        model: String,
        challenge: RegistrationChallenge,
        signer: any CaptureSigner,
        evidence: TPM2Evidence?
    ) async throws(CaptureError) -> RegistrationResponse {
        let signature = try await signer.sign(challenge.bytes)
        let proof: JSONObject = [
            "format": .string(evidence == nil ? "self" : "tpm2"),
            "public_key": .base64(signer.publicKey.sec1),
            "challenge": .base64(challenge.bytes),
            "signature": .base64(signature),
        ]
        let value = JSONValue.object([
            "platform": .string("linux"),
            "model": .string(model),
            "has_lidar": .bool(false),
            // Without evidence, or without an activation, only possession of the key is proven: level `software`.
            "key_attestation": .object(proof + (evidence?.members ?? [:])),
        ])
        let body = BytesBody(WireText.bytes(of: value, for: .mediactl1))
        let request = posting(body, to: "/api/v1/devices/register")
        return try RegistrationResponse(reading: await response(to: request))
    }

    /// `POST /api/v1/captures/hash-only`, at most once. A body without a real assertion is not sent. `headers` contains
    /// the header fields from `RequestSignature`; `requestID` is a UUID that the server echoes.
    ///
    /// - Throws: `.transport` with `isRetryable` only if the server cannot have received the whole request;
    ///   `.unknownOutcome` for a lost response, and for a 500, since `reference` also sends it for a duplicate (on
    ///   `mediactl-1`, the hash can be queried later). `.clockWrong` has the server's `Date` in `value`.
    package func submit(
        _ body: HashOnlyBody,
        headers: [HTTPHeader],
        requestID: String,
        profile: CaptureProfile,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> SubmissionResponse {
        let kept = try HashOnlyPayload.reading(body, profile: profile)
        guard Assertion(base64: kept.assertion) != nil else {
            throw CaptureError(.internalError, detail: "the body is not signed")
        }
        var request = posting(BytesBody(body.bytes), to: "/api/v1/captures/hash-only")
        request.headers += headers + [HTTPHeader("X-Request-Id", requestID)]
        return try SubmissionResponse(reading: await response(to: request, control: control))
    }

    /// `GET /api/v1/captures/{uuid}` (contract 6.2), sent once. `headers` contains the header fields from
    /// `RequestSignature` for an empty body.
    ///
    /// - Throws: `.captureNotFound`; `.forbidden` for another device's capture; `.unexpectedResponse` for a response
    ///   about a different capture.
    package func capture(
        _ id: String,
        headers: [HTTPHeader],
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> RemoteCapture {
        guard let id = UUID(uuidString: id)?.uuidString.lowercased() else {
            throw CaptureError(.badRequest, detail: "the capture ID must be a UUID", value: id)
        }
        let response = try await question("/api/v1/captures/\(id)", headers, control: control)
        let capture = try RemoteCapture(reading: response)
        guard capture.captureID == id else { throw Self.another(response) }
        return capture
    }

    /// `GET /api/v1/captures/by-hash/{hex}` (contract 3.4 no. 6), sent once, if the server supports it; nil if there is
    /// no capture with this hash. The hash is part of the URL. `headers` contains the header fields from
    /// `RequestSignature` for an empty body.
    ///
    /// - Throws: `.notFound` if the server has no such route; `.unexpectedResponse` for a response with a different
    ///   hash.
    package func capture(
        byHash hash: SHA256Digest,
        headers: [HTTPHeader],
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> RemoteCapture? {
        let response = try await question("/api/v1/captures/by-hash/\(hash.hex)", headers, control: control)
        let capture: RemoteCapture
        do {
            capture = try RemoteCapture(reading: response)
        } catch {
            guard error.code == .captureNotFound else { throw error }
            return nil
        }
        // A server does not return a hash for a full capture (contract 6.2).
        let isNameless = capture.mediaHash == nil && capture.isMediaStored == true
        guard isNameless || capture.mediaHash == hash.hex else { throw Self.another(response) }
        return capture
    }

    private static func another(_ response: HTTPResponse) -> CaptureError {
        CaptureError(.unexpectedResponse, detail: "the response is about another capture", httpStatus: response.status)
    }
}

extension CaptureClient {
    /// Maximum length in bytes; a capture with its evidence takes up a few KB.
    package static var longestResponse: Int { 1 << 20 }

    func posting(_ body: BytesBody, to path: String) -> HTTPRequest {
        HTTPRequest(
            .post,
            server.resource(path),
            headers: [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", "application/json")],
            body: body,
            repeatability: .atMostOnce,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestResponse)
        )
    }

    /// Sends a request that may have side effects. Returns the response regardless of its status.
    package func response(
        to request: HTTPRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(CaptureError) -> HTTPResponse {
        do {
            return try await http.execute(request, control: control, progress: progress)
        } catch {
            throw CaptureError(submitting: error)
        }
    }

    /// Sends a query, and returns the response regardless of its status. A signed query is sent once, and a stop stops
    /// it immediately.
    func question(
        _ path: String,
        _ headers: [HTTPHeader] = [],
        repeatability: Repeatability = .resumable,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> HTTPResponse {
        let request = HTTPRequest(
            .get,
            server.resource(path),
            headers: [HTTPHeader("Accept", "application/json")] + headers,
            repeatability: repeatability,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestResponse)
        )
        do {
            return try await http.execute(request, control: control)
        } catch {
            throw CaptureError(reading: error)
        }
    }
}
