internal import CCurlShims
internal import Synchronization

/// Sends requests over libcurl. One thread owns all of libcurl; any number of tasks may call `execute` at once.
public final class HTTPClient: Sendable {
    /// The settings of all transfers.
    public let configuration: HTTPClientConfiguration

    private let loop: TransferLoop
    private let rateLimit: RateLimitGate
    /// Servers that have taken the last body they were sent.
    private let familiar = Mutex<Set<Origin>>([])

    /// Prepares the transfer loop. Its thread starts with the first request.
    ///
    /// - Throws: `TransportError` of kind `.unusable` when libcurl cannot be set up.
    public init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) throws(TransportError) {
        self.configuration = configuration
        ProxyChoice.passwords().forEach(KnownSecrets.add)
        rateLimit = RateLimitGate(policy: configuration.retry)
        loop = try TransferLoop(configuration: configuration)
    }

    deinit {
        loop.shutdown()
    }

    /// Sends a request and waits for its answer. Any status is an answer; only a missing one is an error.
    ///
    /// A `.safe` request is tried again after network failures and after 408, 429, 502, 503 and 504, as the retry policy
    /// says; the last answer is returned whatever its status. After a 429 or 503 to any request, no request of this client
    /// goes to that origin until the wait is over. A request's `verdict` may see an answer in another light.
    ///
    /// Cancelling the task stops a `.safe` request at once (`.cancelled`), and an `.atMostOnce` request only while body
    /// bytes remain; after that the call waits for the answer. `control` can do more.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - control: Stops this transfer from elsewhere.
    ///   - progress: Called on the loop's thread, at most ten times a second and once for each change of phase. Must
    ///     return quickly.
    /// - Returns: The answer, whatever its status.
    /// - Throws: `TransportError`.
    public func execute(
        _ request: HTTPRequest,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (TransferProgress) -> Void)? = nil
    ) async throws(TransportError) -> HTTPResponse {
        let started = ContinuousClock.now
        KnownSecrets.add(request)
        var backoff = Backoff(configuration.retry)
        while true {
            let attempt = backoff.failures + 1
            while let wait = rateLimit.remaining(for: request.url.origin) {
                try await rest(wait, before: attempt, control: control, progress: progress, started: started)
            }
            let result = await perform(request, attempt: attempt, control: control, progress: progress)
            guard request.repeatability == .safe, !control.isStopRequested, request.isPassing(result),
                let wait = backoff.next(retryAfter: try? result.get().head.retryAfter)
            else { return try result.get(attempts: attempt, duration: started.duration(to: .now)) }
            try await rest(wait, before: attempt + 1, control: control, progress: progress, started: started)
        }
    }

    /// Refuses new requests and cancels running ones.
    public func shutdown() {
        loop.shutdown()
    }

    /// Waits; a stop ends that with an error.
    private func rest(
        _ wait: Duration,
        before attempt: Int,
        control: TransferControl,
        progress: (@Sendable (TransferProgress) -> Void)?,
        started: ContinuousClock.Instant
    ) async throws(TransportError) {
        progress?(TransferProgress(phase: .waitingToRetry, attempt: attempt, wait: wait))
        if await control.waitForStop(upTo: wait) {
            let metrics = TransferMetrics(attempts: max(1, attempt - 1), duration: started.duration(to: .now))
            throw TransportError(.cancelled, detail: "stopped between two tries", metrics: metrics)
        }
    }

    /// One try. A server that fails the expectation is asked once more without it (RFC 9110 section 10.1.1).
    private func perform(
        _ request: HTTPRequest,
        attempt: Int,
        control: TransferControl,
        progress: (@Sendable (TransferProgress) -> Void)?
    ) async -> Result<HTTPResponse, TransportError> {
        var submission = Submission(
            request: request,
            attempt: attempt,
            expectsContinue: true,
            // HTTP/2 loses an early refusal of an unasked body that is longer than its first window (trap T3).
            isFamiliar: !configuration.http2 && familiar.withLock { $0.contains(request.url.origin) },
            control: control,
            progress: progress
        )
        var result = await run(submission)
        if case .failure(let error) = result, error.isTrustRefused, let decide = configuration.onUntrustedServer {
            switch await decide(request.url.origin, error) {
            case .retry: result = await run(submission)
            case .refuse(let refusal): result = .failure(refusal)
            }
        }
        if case .failure(let error) = result, error.head?.status == 417, error.metrics.bodyBytesSent == 0 {
            submission.expectsContinue = false
            result = await run(submission)
        }
        return result
    }

    private func run(_ submission: Submission) async -> Result<HTTPResponse, TransportError> {
        let started = ContinuousClock.now
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                loop.submit(submission) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            switch submission.request.repeatability {
            case .safe, .resumable: submission.control.abandon()
            case .atMostOnce: submission.control.stop()
            }
        }
        note(result, of: submission.request, startedAt: started)
        report(result, of: submission.request)
        return result
    }

    /// What an exchange says about later ones with the same server.
    private func note(
        _ result: Result<HTTPResponse, TransportError>,
        of request: HTTPRequest,
        startedAt: ContinuousClock.Instant
    ) {
        let origin = request.url.origin
        switch result {
        case .success(let response):
            if request.verdict(response) != .final {
                rateLimit.note(response.head, from: origin, requestedAt: startedAt)
            }
            if request.body != nil, (200..<300).contains(response.status) {
                familiar.withLock { _ = $0.insert(origin) }
            }
        case .failure:
            familiar.withLock { _ = $0.remove(origin) }
        }
    }

    private func report(_ result: Result<HTTPResponse, TransportError>, of request: HTTPRequest) {
        guard let observer = configuration.observer else { return }
        let metrics =
            switch result {
            case .success(let response): response.metrics
            case .failure(let error): error.metrics
            }
        observer(
            ExchangeRecord(
                method: request.method,
                url: request.url,
                outcome: result.map(\.status),
                bodyBytesSent: metrics.bodyBytesSent,
                bytesReceived: metrics.bytesReceived,
                duration: metrics.duration
            )
        )
    }
}

extension HTTPRequest {
    /// Whether a second try may be answered better.
    fileprivate func isPassing(_ result: Result<HTTPResponse, TransportError>) -> Bool {
        switch result {
        case .failure(let error): error.isWorthRepeating
        case .success(let response):
            switch verdict(response) {
            case .byStatus: [408, 429, 502, 503, 504].contains(response.status)
            case .final: false
            case .passing: true
            }
        }
    }
}

extension Result<HTTPResponse, TransportError> {
    /// The answer or the error, with the measurements of the whole call.
    fileprivate func get(attempts: Int, duration: Duration) throws(TransportError) -> HTTPResponse {
        switch self {
        case .success(var response):
            response.metrics.attempts = attempts
            response.metrics.duration = duration
            return response
        case .failure(var error):
            error.metrics.attempts = attempts
            error.metrics.duration = duration
            throw error
        }
    }
}

/// How the peer of a TLS connection is checked.
public struct ServerTrust: Sendable, Equatable {
    /// A PEM file of certificate authorities to trust instead of the system's.
    public var caFile: String?
    /// `sha256//BASE64` of the server's public key (RFC 7469 form, several separated by `;`). A match replaces the
    /// check of chain and name.
    public var pinnedKey: String?
    /// Accept any certificate.
    public var insecure: Bool

    /// Makes a policy; by default the system's authorities are trusted.
    public init(caFile: String? = nil, pinnedKey: String? = nil, insecure: Bool = false) {
        self.caFile = caFile
        self.pinnedKey = pinnedKey
        self.insecure = insecure
    }
}

/// The decision after the certificate of a server was refused.
public enum TrustDecision: Sendable {
    /// `trustByOrigin` now accepts the server: connect again.
    case retry
    /// The request fails with this error.
    case refuse(TransportError)
}

/// Settings shared by all transfers of a client.
public struct HTTPClientConfiguration: Sendable {
    /// TLS checks.
    public var trust: ServerTrust
    /// TLS checks of one server, in place of `trust`: a pin or an exemption belongs to the server that it was given for.
    /// Called for every attempt, on the loop's thread; must return quickly.
    public var trustByOrigin: (@Sendable (Origin) -> ServerTrust)?
    /// Decides about a server whose certificate was refused, before anything was sent. Without it the refusal is final.
    public var onUntrustedServer: (@Sendable (Origin, TransportError) async -> TrustDecision)?
    /// Offer HTTP/2 to TLS servers. Off by default: HTTP/1.1 costs less CPU for large bodies, and an early refusal of
    /// one is clean (trap T3).
    public var http2: Bool
    /// Retries of repeatable requests.
    public var retry: RetryPolicy
    /// Upper bound of the sending rate in bytes a second, shared evenly by the transfers; nil for none.
    public var maximumSendRate: Int64?
    /// For how long a kept connection may have been idle, in whole seconds, to be trusted with what may be sent once only.
    /// Servers close after 5 s and more (Apache's default), and a request that meets the close has an unknown outcome.
    public var idleLimit: Duration
    /// Value of `User-Agent`.
    public var userAgent: String
    /// The origins to which no password is sent. Responses add to it.
    public var loginRequirements = LoginRequirements()
    /// Told of every exchange when it has ended, for `-v`. Sees no header field, no credentials and no content.
    public var observer: (@Sendable (ExchangeRecord) -> Void)?

    /// Makes a configuration.
    public init(
        trust: ServerTrust = ServerTrust(),
        http2: Bool = false,
        retry: RetryPolicy = RetryPolicy(),
        maximumSendRate: Int64? = nil,
        idleLimit: Duration = .seconds(3),
        userAgent: String = "mediactl",
        observer: (@Sendable (ExchangeRecord) -> Void)? = nil
    ) {
        self.trust = trust
        trustByOrigin = nil
        onUntrustedServer = nil
        self.http2 = http2
        self.retry = retry
        self.maximumSendRate = maximumSendRate
        self.idleLimit = idleLimit
        self.userAgent = userAgent
        self.observer = observer
    }
}

extension HTTPClientConfiguration {
    /// How a server is verified.
    package func trust(for origin: Origin) -> ServerTrust { trustByOrigin?(origin) ?? trust }
}

/// One try of a request, as a log line needs it.
public struct ExchangeRecord: Sendable {
    /// The method.
    public let method: HTTPMethod
    /// The address.
    public let url: RequestURL
    /// The status of the answer, or why there was none.
    public let outcome: Result<Int, TransportError>
    /// Body bytes sent.
    public let bodyBytesSent: Int64
    /// Content bytes received.
    public let bytesReceived: Int64
    /// From the start of the try to its end.
    public let duration: Duration
}

/// Which libcurl this process runs with. It may be newer than the one it was built with.
public enum LibcurlVersion {
    /// Its version, such as `7.88.1`.
    public static var number: String {
        // Constants of libcurl, which stays loaded.
        String(cString: shim_library_version())
    }

    /// What does its TLS, and in which version, such as `OpenSSL/3.0.17`; nil for a libcurl without TLS.
    public static var tls: String? {
        shim_library_tls().map { String(cString: $0) }
    }
}
