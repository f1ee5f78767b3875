/// A request method (RFC 9110 section 9; PATCH is RFC 5789).
public enum HTTPMethod: String, Sendable {
    /// Transfers a representation.
    case get = "GET"
    /// Like GET without the content.
    case head = "HEAD"
    /// Processes the content.
    case post = "POST"
    /// Replaces the target.
    case put = "PUT"
    /// Changes the target in part.
    case patch = "PATCH"
    /// Removes the target.
    case delete = "DELETE"
    /// Asks for the options of the target.
    case options = "OPTIONS"
}

/// One header field.
public struct HTTPHeader: Sendable, Hashable {
    /// The field name as sent.
    public let name: String
    /// The field value. Line breaks are removed before sending.
    public let value: String

    /// Makes a header field.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Whether a request may reach the server more than once.
public enum Repeatability: Sendable {
    /// Repeating changes nothing (GET, HEAD): the retry policy applies.
    case safe
    /// The request reaches the server at most once per call, and is never repeated by the client. A caller may repeat
    /// it when `TransportError.isBeforeRequest` says that the server cannot have seen it; every other failure is the
    /// caller's to resolve.
    case atMostOnce
    /// The caller asks the server how far it has got after every failure (a PATCH of tus): never repeated by the client,
    /// and a body that has begun is never sent again, but nothing is lost when it is broken off. Goes over a kept
    /// connection, and ends at once when it is stopped.
    case resumable
}

/// What an answer means for the next try, where its status alone does not tell.
public enum AnswerVerdict: Sendable {
    /// As the status says: 408, 429, 502, 503 and 504 pass, and 429 and 503 ask all requests of the client for quiet.
    case byStatus
    /// Trying again cannot change it, and it asks nobody for quiet.
    case final
    /// Trying again may change it.
    case passing
}

/// How long each stage may be silent.
public struct TransferTimeouts: Sendable {
    /// Name look-up, TCP and TLS.
    public var connect: Duration
    /// No progress while the body is being sent, or while an answer is being received.
    public var stall: Duration
    /// From the last body byte to the end of the response; to its first byte for a download (a GET whose content goes to a
    /// receiver). The server may hash and probe for minutes (trap T20).
    public var answer: Duration

    /// Makes a set of limits; the defaults are those of the command line.
    public init(connect: Duration = .seconds(30), stall: Duration = .seconds(60), answer: Duration = .seconds(600)) {
        self.connect = connect
        self.stall = stall
        self.answer = answer
    }
}

/// Where the bytes of an answer go.
public enum ResponseDestination: Sendable {
    /// Into `HTTPResponse.body`. An answer above `limit` bytes fails with `.responseTooLarge`.
    case memory(limit: Int)
    /// Into a receiver; `HTTPResponse.body` stays empty.
    case receiver(any ResponseReceiver)
}

/// Takes the bytes of an answer as they arrive. Called on the transfer loop's thread, one call at a time, in order.
public protocol ResponseReceiver: Sendable {
    /// The status line and header fields of the final answer have arrived.
    func begin(_ head: HTTPResponseHead) throws
    /// The next bytes. They are valid during the call only.
    func receive(_ bytes: UnsafeRawBufferPointer) throws
}

/// One HTTP request, complete and ready to send.
public struct HTTPRequest: Sendable {
    /// What to do.
    public var method: HTTPMethod
    /// Where.
    public var url: RequestURL
    /// Header fields besides those the transport sets (`Host`, `User-Agent`, `Content-Length`, `Expect`).
    public var headers: [HTTPHeader]
    /// The content, if any.
    public var body: (any RequestBody)?
    /// Sent only when its origin is the request's.
    public var authorization: Authorization?
    /// Secrets in the address, header fields or body, which no error may repeat (`KnownSecrets`).
    package var tokens: [String] = []
    /// Whether it may be repeated.
    public var repeatability: Repeatability
    /// Says what an answer means for the next try. Runs on the caller's task, and sees the content of an answer in memory.
    public var verdict: @Sendable (HTTPResponse) -> AnswerVerdict
    /// Whether a large body asks `Expect: 100-continue` first (RFC 9110 section 10.1.1), so that a refusal costs no body.
    /// A server that knows nothing of it costs a second, after which the body goes anyway.
    public var asksBeforeLargeBody: Bool
    /// Silence limits.
    public var timeouts: TransferTimeouts
    /// Where the answer goes.
    public var destination: ResponseDestination

    /// Makes a request. `Accept: application/json` is added by default, and never `text/html` (trap T1).
    public init(
        _ method: HTTPMethod,
        _ url: RequestURL,
        headers: [HTTPHeader] = [HTTPHeader("Accept", "application/json")],
        body: (any RequestBody)? = nil,
        authorization: Authorization? = nil,
        repeatability: Repeatability,
        verdict: @escaping @Sendable (HTTPResponse) -> AnswerVerdict = { _ in .byStatus },
        asksBeforeLargeBody: Bool = true,
        timeouts: TransferTimeouts = TransferTimeouts(),
        destination: ResponseDestination = .memory(limit: 8 << 20)
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.authorization = authorization
        self.repeatability = repeatability
        self.verdict = verdict
        self.asksBeforeLargeBody = asksBeforeLargeBody
        self.timeouts = timeouts
        self.destination = destination
    }
}
