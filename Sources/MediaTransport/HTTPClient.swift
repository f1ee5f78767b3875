internal import CCurlShims
internal import Synchronization

/// Sends requests over libcurl. One thread owns all of libcurl; any number of tasks may call `execute` concurrently.
public final class HTTPClient: Sendable {
    /// The settings of all transfers.
    public let configuration: HTTPClientConfiguration

    private let loop: TransferLoop
    private let rateLimit: RateLimitGate
    /// Servers that have accepted a body, until they refuse one without reading it, or a transfer to them fails.
    private let familiar = Mutex<Set<Origin>>([])

    /// Prepares the transfer loop. Its thread starts with the first request.
    ///
    /// - Throws: `TransportError` of kind `.unusable` if libcurl cannot be set up.
    public init(configuration: HTTPClientConfiguration = HTTPClientConfiguration()) throws(TransportError) {
        self.configuration = configuration
        ProxyChoice.passwords().forEach(KnownSecrets.add)
        rateLimit = RateLimitGate(policy: configuration.retry)
        loop = try TransferLoop(configuration: configuration)
    }

    deinit {
        loop.shutdown()
    }

    /// Sends a request and waits for the response. Any status is a response; only a missing one is an error.
    ///
    /// A `.safe` request is retried after network failures and after 408, 429, 502, 503 and 504, by the retry policy;
    /// the last response is returned regardless of its status. After a 429 or 503 to any request, the client sends
    /// nothing to that origin until the wait is over, or fails with `.rateLimited` if it must not wait. A request's
    /// `verdict` can overrule the status.
    ///
    /// Canceling the task stops an `.atMostOnce` request only while body bytes remain, and any other request
    /// immediately (`.cancelled`). `control.abandon()` stops any request immediately.
    ///
    /// `progress` is called on the loop's thread, at most ten times a second and at each change of phase; it
    /// must return quickly.
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
            while let cooldown = rateLimit.cooldown(of: request.url.origin) {
                guard cooldown.rest <= longestWait(for: cooldown, request) else {
                    let metrics = TransferMetrics(attempts: max(1, attempt - 1), duration: started.duration(to: .now))
                    throw TransportError(
                        .rateLimited(status: cooldown.status, rest: cooldown.rest),
                        detail: "the server does not accept requests yet",
                        metrics: metrics
                    )
                }
                configuration.onWait?(
                    WaitNotice(status: cooldown.status, delay: cooldown.rest, requested: cooldown.requested)
                )
                try await rest(cooldown.rest, before: attempt, control: control, progress: progress, started: started)
            }
            let result = await perform(request, attempt: attempt, control: control, progress: progress)
            guard request.repeatability == .safe, !control.isStopRequested, request.isPassing(result),
                configuration.mayRetry?(result.map(\.status)) ?? true,
                let wait = backoff.next(retryAfter: try? result.get().head.retryAfter),
                request.maximumWait.map({ wait <= $0 }) ?? true
            else { return try result.get(attempts: attempt, duration: started.duration(to: .now)) }
            configuration.onRetry?(RetryNotice(outcome: result.map(\.status), delay: wait))
            let head = try? result.get().head
            configuration.onWait?(WaitNotice(status: head?.status, delay: wait, requested: head?.retryAfter))
            try await rest(wait, before: attempt + 1, control: control, progress: progress, started: started)
        }
    }

    private func longestWait(for cooldown: RateLimitGate.Cooldown, _ request: HTTPRequest) -> Duration {
        if let limit = request.maximumWait { return limit }
        return configuration.waitsForRetryAfter || cooldown.requested == nil ? cooldown.rest : .zero
    }

    /// Waits before an attempt. Throws if a stop interrupts the wait.
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
            throw TransportError(.cancelled, detail: "stopped between two attempts", metrics: metrics)
        }
    }

    /// One attempt. It is repeated at once if no body bytes were sent: after a decision to trust the server, or,
    /// without `Expect`, after a 417 (RFC 9110 section 10.1.1).
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
            // HTTP/2 loses an early refusal of a body that is sent without `Expect` and exceeds the first window (trap
            // T3).
            isFamiliar: !configuration.http2 && familiar.withLock { $0.contains(request.url.origin) },
            control: control,
            progress: progress
        )
        var decideTrust = configuration.onUntrustedServer
        while true {
            let started = ContinuousClock.now
            let result = await loop.send(submission)
            note(result, of: request, startedAt: started)
            report(result, of: request)
            guard case .failure(let error) = result else { return result }
            if error.isTrustRefused, let decide = decideTrust {
                decideTrust = nil
                if case .refuse(let refusal) = await decide(request.url.origin, error) { return .failure(refusal) }
            } else if error.head?.status == 417, error.metrics.bodyBytesSent == 0, submission.expectsContinue {
                submission.expectsContinue = false
            } else {
                return result
            }
        }
    }

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
            guard request.body != nil else { return }
            if !response.metrics.bodyComplete {
                familiar.withLock { _ = $0.remove(origin) }
            } else if (200..<300).contains(response.status) {
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
        let outcome = result.map(\.status)
        observer(ExchangeRecord(method: request.method, url: request.url, outcome: outcome, metrics: metrics))
    }
}

extension HTTPRequest {
    /// Whether a retry can help.
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

/// How the certificate of a TLS server is checked.
public struct ServerTrust: Sendable, Equatable {
    /// A PEM file of certificate authorities to trust instead of the system's.
    public var caFile: String?
    /// `sha256//BASE64` of the server's public key (RFC 7469 form, several separated by `;`). A match replaces the
    /// certificate chain and host name checks.
    public var pinnedKey: String?
    /// Accept any certificate.
    public var insecure: Bool

    /// Trusts the system's certificate authorities by default.
    public init(caFile: String? = nil, pinnedKey: String? = nil, insecure: Bool = false) {
        self.caFile = caFile
        self.pinnedKey = pinnedKey
        self.insecure = insecure
    }
}

/// The decision about a server whose certificate was refused.
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
    /// TLS checks for one server, in place of `trust`: a pin or an exemption applies only to the server that it was
    /// specified for. Called for every attempt, on the loop's thread; must return quickly.
    public var trustByOrigin: (@Sendable (Origin) -> ServerTrust)?
    /// Decides about a server whose certificate was refused, before anything was sent. Without it, the refusal is
    /// final.
    public var onUntrustedServer: (@Sendable (Origin, TransportError) async -> TrustDecision)?
    /// Offer HTTP/2 to TLS servers. Off by default: with HTTP/1.1, large bodies use less CPU time, and an early refusal
    /// is not lost (trap T3).
    public var http2: Bool
    /// Retries of repeatable requests.
    public var retry: RetryPolicy
    /// Upper bound of the sending rate in bytes per second, shared evenly by the transfers; nil for none.
    public var maximumSendRate: Int64?
    /// Maximum time that a kept connection may have been idle (whole seconds) to be used for an at-most-once request.
    /// Servers close idle connections after 5 s (Apache's default) or more; a request sent while a connection closes
    /// has an unknown outcome.
    public var idleLimit = Duration.seconds(3)
    public var userAgent: String
    /// The origins to which no password is sent. Responses may add origins.
    public var loginRequirements = LoginRequirements()
    /// Called after every exchange, for `-v`. Receives no header fields, credentials or content.
    public var observer: (@Sendable (ExchangeRecord) -> Void)?
    /// After a failed attempt for which a retry might help, decides whether to retry; nil to always retry. Must return
    /// quickly.
    public var mayRetry: (@Sendable (Result<Int, TransportError>) -> Bool)?
    /// Called before the wait for a retry; must return quickly.
    public var onRetry: (@Sendable (RetryNotice) -> Void)?
    /// Called before every wait of a request, before a retry or because the server refuses requests; must
    /// return quickly.
    public var onWait: (@Sendable (WaitNotice) -> Void)?
    /// Whether a request waits for the time that the server requested with `Retry-After` (default); otherwise it fails
    /// with `.rateLimited`.
    public var waitsForRetryAfter = true

    public init(
        trust: ServerTrust = ServerTrust(),
        http2: Bool = false,
        retry: RetryPolicy = RetryPolicy(),
        maximumSendRate: Int64? = nil,
        userAgent: String = "mediactl",
        observer: (@Sendable (ExchangeRecord) -> Void)? = nil
    ) {
        self.trust = trust
        trustByOrigin = nil
        onUntrustedServer = nil
        self.http2 = http2
        self.retry = retry
        self.maximumSendRate = maximumSendRate
        self.userAgent = userAgent
        self.observer = observer
    }
}

extension HTTPClientConfiguration {
    package func trust(for origin: Origin) -> ServerTrust { trustByOrigin?(origin) ?? trust }
}

/// A retry that is about to wait.
public struct RetryNotice: Sendable {
    /// The status of the failed response, or why there was no response.
    public var outcome: Result<Int, TransportError>
    /// Time until the retry.
    public var delay: Duration

    package init(outcome: Result<Int, TransportError>, delay: Duration) {
        self.outcome = outcome
        self.delay = delay
    }
}

/// A request that is about to wait.
public struct WaitNotice: Sendable {
    /// The status of the response that caused the wait; nil if there was none.
    public var status: Int?
    /// Time until the request is sent.
    public var delay: Duration
    /// The server's `Retry-After`, which may be longer.
    public var requested: Duration?

    package init(status: Int?, delay: Duration, requested: Duration?) {
        self.status = status
        self.delay = delay
        self.requested = requested
    }
}

/// One attempt of a request, for a log line.
public struct ExchangeRecord: Sendable {
    public let method: HTTPMethod
    public let url: RequestURL
    /// The status of the response, or why there was no response.
    public let outcome: Result<Int, TransportError>
    /// The measurements of this attempt.
    public let metrics: TransferMetrics
}

/// The libcurl that this process uses. It may be newer than the version that mediactl was built with.
public enum LibcurlVersion {
    /// The version number, such as `7.88.1`.
    public static var number: String {
        // Constants of libcurl, which stays loaded.
        String(cString: shim_library_version())
    }

    /// The TLS library and its version, such as `OpenSSL/3.0.17`; nil for a libcurl without TLS.
    public static var tls: String? {
        shim_library_tls().map { String(cString: $0) }
    }
}
