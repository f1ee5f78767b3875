public import MediaCrypto
public import MediaTransport

/// One capture server: requests and answers (hash-only contract), no state.
///
/// A submission reaches the server at most once per call. Every method throws `CaptureError`; a task that is cancelled, or a
/// `control` that is stopped, gives `.cancelled`. Redirects are not followed (`.redirected`).
public struct CaptureClient: Sendable {
    /// The server's address; it may live below a path.
    public let server: ServerURL
    package let http: HTTPClient
    package let timeouts: TransferTimeouts

    /// Makes a client.
    public init(server: ServerURL, http: HTTPClient, timeouts: TransferTimeouts = TransferTimeouts()) {
        self.server = server
        self.http = http
        self.timeouts = timeouts
    }

    /// `GET /api/v1/devices/challenge`.
    public func challenge() async throws(CaptureError) -> RegistrationChallenge {
        throw CaptureError(.internalError)
    }

    /// `POST /api/v1/devices/register` with platform `linux` (contract 3.4): never another platform, never LiDAR.
    ///
    /// - Parameters:
    ///   - model: Shown by the server, non-blank.
    ///   - challenge: Fresh.
    ///   - signer: Signs the challenge's 32 bytes.
    ///   - attestation: What proves where the key lies.
    /// - Returns: The device as the server has it.
    /// - Throws: `CaptureError`: `.alreadyRegistered`, `.enrolmentImpossible` where the server knows no `linux`.
    public func register(
        model: String,
        challenge: RegistrationChallenge,
        signer: any CaptureSigner,
        attestation: KeyAttestation
    ) async throws(CaptureError) -> RegistrationReply {
        throw CaptureError(.internalError)
    }

    /// `POST /api/v1/captures/hash-only`, at most once.
    ///
    /// - Parameters:
    ///   - body: Signed.
    ///   - headers: Of `RequestSignature`.
    ///   - requestID: UUID, echoed by the server.
    ///   - control: Breaks the request off.
    /// - Returns: What the server did.
    /// - Throws: `CaptureError`: `.transport` with `isRetryable` only when the server cannot have seen the request,
    ///   `.unknownOutcome` for a lost answer and, on `reference`, for a 500; `.clockWrong` with the server's `Date` in
    ///   `value`.
    public func submit(
        _ body: HashOnlyBody,
        headers: [HTTPHeader],
        requestID: String,
        profile: CaptureProfile,
        control: TransferControl = TransferControl()
    ) async throws(CaptureError) -> SubmissionReply {
        throw CaptureError(.internalError)
    }

    /// `GET /api/v1/captures/{uuid}` (contract 6.2).
    public func capture(_ id: String, headers: [HTTPHeader]) async throws(CaptureError) -> RemoteCapture {
        throw CaptureError(.internalError)
    }

    /// `GET /api/v1/captures/by-hash/{hex}` (contract 3.4 no. 6), where the server has it.
    ///
    /// - Returns: nil when there is no capture of this hash.
    /// - Throws: `CaptureError`; `.unexpectedAnswer` when the server has no such route.
    public func capture(byHash hash: SHA256Digest, headers: [HTTPHeader]) async throws(CaptureError) -> RemoteCapture? {
        throw CaptureError(.internalError)
    }
}
