internal import Foundation
package import MediaCrypto
public import MediaTransport

/// One capture server: requests and answers (hash-only contract), no state.
///
/// A submission or a registration reaches the server at most once per call. A signed question is asked once per call too,
/// since its counter is good for one request: after a failure the caller asks again under a new counter. Every method throws
/// `CaptureError`; a task that is cancelled, or a `control` that is stopped, gives `.cancelled`, or `.unknownOutcome` when
/// the whole body was out. Redirects are not followed (`.redirected`).
public struct CaptureClient: Sendable {
    /// The server's address; it may live below a path.
    public let server: ServerURL
    package let http: HTTPClient
    package let timeouts: TransferTimeouts

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - server: Its address.
    ///   - http: Sends the requests.
    ///   - timeouts: How long each stage may be silent.
    public init(server: ServerURL, http: HTTPClient, timeouts: TransferTimeouts = TransferTimeouts()) {
        self.server = server
        self.http = http
        self.timeouts = timeouts
    }

    /// `GET /api/v1/devices/challenge`.
    ///
    /// - Returns: 32 bytes to sign, good once.
    /// - Throws: `CaptureError`.
    package func challenge() async throws(CaptureError) -> RegistrationChallenge {
        let response = try await question("/api/v1/devices/challenge", repeatability: .safe)
        return try RegistrationChallenge(reading: response)
    }

    /// `POST /api/v1/devices/register` with platform `linux` (contract 3.4): never another platform, never LiDAR.
    ///
    /// - Parameters:
    ///   - model: Shown by the server, non-blank.
    ///   - challenge: Fresh.
    ///   - signer: Signs the challenge's 32 bytes.
    ///   - attestation: What proves where the key lies.
    /// - Returns: The device as the server has it.
    /// - Throws: `CaptureError`: `.alreadyRegistered`, `.enrolmentImpossible` where the server knows no `linux` or takes no
    ///   such evidence, `.unknownOutcome` when the answer was lost: the device may exist then.
    package func register(
        model: String,
        challenge: RegistrationChallenge,
        signer: any CaptureSigner,
        attestation: KeyAttestation
    ) async throws(CaptureError) -> RegistrationReply {
        let registration = Registration(
            model: model,
            challenge: challenge,
            publicKey: signer.publicKey,
            signature: try await signer.sign(challenge.bytes),
            attestation: attestation
        )
        let request = posting(BytesBody(registration.json), to: "/api/v1/devices/register")
        return try RegistrationReply(reading: await answer(to: request))
    }

    /// `POST /api/v1/captures/hash-only`, at most once.
    ///
    /// A body without a real assertion is not sent.
    ///
    /// - Parameters:
    ///   - body: Signed.
    ///   - headers: Of `RequestSignature`.
    ///   - requestID: UUID, echoed by the server.
    ///   - profile: The server's.
    ///   - control: Breaks the request off.
    /// - Returns: What the server did.
    /// - Throws: `CaptureError`: `.transport` with `isRetryable` only when the server cannot have seen the whole request;
    ///   `.unknownOutcome` for a lost answer, and for a 500 of either profile: on `reference` that is also what a duplicate
    ///   gets, on `mediactl-1` the hash can be asked for later. `.clockWrong` has the server's `Date` in `value`.
    package func submit(
        _ body: HashOnlyBody,
        headers: [HTTPHeader],
        requestID: String,
        profile: CaptureProfile,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> SubmissionReply {
        let kept = try HashOnlyPayload.reading(body, profile: profile)
        guard Assertion(base64: kept.assertion) != nil else {
            throw CaptureError(.internalError, detail: "the body is not signed")
        }
        var request = posting(BytesBody(body.bytes), to: "/api/v1/captures/hash-only")
        request.headers += headers + [HTTPHeader("X-Request-Id", requestID)]
        return try SubmissionReply(reading: await answer(to: request, control: control))
    }

    /// `GET /api/v1/captures/{uuid}` (contract 6.2), once.
    ///
    /// - Parameters:
    ///   - id: The server's id of a capture.
    ///   - headers: Of `RequestSignature`, for an empty body.
    ///   - control: Breaks the request off.
    /// - Returns: The capture.
    /// - Throws: `CaptureError`: `.captureNotFound`, `.forbidden` for another device's; `.unexpectedAnswer` for another
    ///   capture than the one asked for.
    package func capture(
        _ id: String,
        headers: [HTTPHeader],
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> RemoteCapture {
        guard let id = UUID(uuidString: id)?.uuidString.lowercased() else {
            throw CaptureError(.badRequest, detail: "a capture's id is a UUID", value: id)
        }
        let response = try await question("/api/v1/captures/\(id)", headers, control: control)
        let capture = try RemoteCapture(reading: response)
        guard capture.captureID == id else { throw Self.another(response) }
        return capture
    }

    /// `GET /api/v1/captures/by-hash/{hex}` (contract 3.4 no. 6), where the server has it, once.
    ///
    /// - Parameters:
    ///   - hash: Of the media. It is part of the address.
    ///   - headers: Of `RequestSignature`, for an empty body.
    ///   - control: Breaks the request off.
    /// - Returns: nil when there is no capture of this hash.
    /// - Throws: `CaptureError`; `.notFound` when the server has no such route, `.unexpectedAnswer` when it answers with
    ///   another hash.
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
        // Of a full capture a server names no hash (contract 6.2).
        let isNameless = capture.mediaHash == nil && capture.isMediaStored == true
        guard isNameless || capture.mediaHash == hash.hex else { throw Self.another(response) }
        return capture
    }

    private static func another(_ response: HTTPResponse) -> CaptureError {
        CaptureError(.unexpectedAnswer, detail: "the answer is about another capture", httpStatus: response.status)
    }
}

extension CaptureClient {
    /// Longest answer that is read, in bytes: a capture with its evidence is a few KB.
    package static var longestAnswer: Int { 1 << 20 }

    /// A request with a JSON body, sent at most once.
    func posting(_ body: BytesBody, to path: String) -> HTTPRequest {
        HTTPRequest(
            .post,
            server.resource(path),
            headers: [HTTPHeader("Accept", "application/json"), HTTPHeader("Content-Type", "application/json")],
            body: body,
            repeatability: .atMostOnce,
            timeouts: timeouts,
            destination: .memory(limit: Self.longestAnswer)
        )
    }

    /// Sends what may change something, and waits for its answer, whatever its status.
    func answer(
        to request: HTTPRequest,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> HTTPResponse {
        do {
            return try await http.execute(request, control: control)
        } catch {
            throw CaptureError(submitting: error)
        }
    }

    /// Asks something, and waits for the answer, whatever its status. A signed question goes out once, and ends at once when
    /// it is stopped.
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
            destination: .memory(limit: Self.longestAnswer)
        )
        do {
            return try await http.execute(request, control: control)
        } catch {
            throw CaptureError(reading: error)
        }
    }
}
