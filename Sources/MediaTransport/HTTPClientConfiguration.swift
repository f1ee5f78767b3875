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
