/// The status line and header fields of an answer.
public struct HTTPResponseHead: Sendable, Equatable {
    /// The status code (RFC 9110 section 15).
    public var status: Int
    /// Header fields in order of arrival.
    public var headers: [HTTPHeader]
    /// What a 401 shows about the credentials of the request; nil for other responses.
    package var refusal: CredentialRefusal?

    /// Makes a head.
    package init(status: Int, headers: [HTTPHeader] = []) {
        self.status = status
        self.headers = headers
    }

    /// The first value of a field; names are compared without case (RFC 9110 section 5.1).
    public func value(of name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The media type of `Content-Type`, lower case, without parameters; nil when absent.
    public var mediaType: String? {
        value(of: "Content-Type").flatMap { $0.split(separator: ";", maxSplits: 1).first }
            .map { $0.trimmingBlanks().lowercased() }
    }
}

/// An answer, with what was measured on the way.
public struct HTTPResponse: Sendable {
    /// Status and header fields.
    public var head: HTTPResponseHead
    /// The content when the request asked for it in memory.
    public var body: [UInt8]
    /// What the transfer did.
    public var metrics: TransferMetrics

    /// The status code.
    public var status: Int { head.status }

    /// Makes an answer.
    package init(head: HTTPResponseHead, body: [UInt8], metrics: TransferMetrics) {
        self.head = head
        self.body = body
        self.metrics = metrics
    }
}

/// What one call did on the network.
public struct TransferMetrics: Sendable, Equatable {
    /// Body bytes handed to the network in the last attempt.
    public var bodyBytesSent: Int64
    /// Whether the whole body was handed to the network in the last attempt.
    public var bodyComplete: Bool
    /// Content bytes received.
    public var bytesReceived: Int64
    /// Tries, at least 1.
    public var attempts: Int
    /// From the call to its end, waits between tries included.
    public var duration: Duration

    /// Makes a set of measurements.
    package init(
        bodyBytesSent: Int64 = 0,
        bodyComplete: Bool = false,
        bytesReceived: Int64 = 0,
        attempts: Int = 1,
        duration: Duration = .zero
    ) {
        self.bodyBytesSent = bodyBytesSent
        self.bodyComplete = bodyComplete
        self.bytesReceived = bytesReceived
        self.attempts = attempts
        self.duration = duration
    }
}
