/// A request method (RFC 9110 section 9; PATCH is RFC 5789).
public enum HTTPMethod: String, Sendable {
    case get = "GET"
    case head = "HEAD"
    case post = "POST"
    case put = "PUT"
    case patch = "PATCH"
    case delete = "DELETE"
    case options = "OPTIONS"
}

/// One header field.
public struct HTTPHeader: Sendable, Hashable {
    /// The field name as sent.
    public let name: String
    /// The field value. Line breaks are removed before sending.
    public let value: String

    /// Creates a header field.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// Whether a request may reach the server more than once.
public enum Repeatability: Sendable {
    /// Repeating changes nothing (GET, HEAD): the retry policy applies.
    case safe
    /// The request reaches the server at most once per call. A caller may repeat it if
    /// `TransportError.isBeforeRequest`, and must resolve all other failures itself.
    case atMostOnce
    /// After a failure, the caller queries the server's offset (a PATCH of tus). The client never repeats the request
    /// or resends a body that has begun. The request uses a kept connection, and can be stopped immediately: an
    /// interruption loses nothing.
    case resumable
}

/// The meaning of a response for a retry, if its status alone does not decide.
public enum ResponseVerdict: Sendable {
    /// Decided by status: 408, 429, 502, 503 and 504 are retried, and 429 and 503 delay all of the client's requests to
    /// the origin.
    case byStatus
    /// A retry cannot help. Other requests are not delayed.
    case final
    /// A retry can help.
    case passing
}

/// The time limits for the stages of a transfer.
public struct TransferTimeouts: Sendable {
    /// Name lookup, TCP and TLS.
    public var connect: Duration
    /// No progress while the body is being sent, or while a response is being received.
    public var stall: Duration
    /// From the last body byte to the end of the response; to its first byte for a download (a GET whose content goes
    /// to a receiver). The server may hash and probe for minutes (trap T20).
    public var response: Duration

    /// Creates a set of limits; the defaults are those used by the command line.
    public init(connect: Duration = .seconds(30), stall: Duration = .seconds(60), response: Duration = .seconds(600)) {
        self.connect = connect
        self.stall = stall
        self.response = response
    }
}

/// The destination of a response's bytes.
public enum ResponseDestination: Sendable {
    /// Into `HTTPResponse.body`. A response above `limit` bytes fails with `.responseTooLarge`.
    case memory(limit: Int)
    /// Into a receiver; `HTTPResponse.body` stays empty.
    case receiver(any ResponseReceiver)
}

/// Receives the bytes of a response as they arrive. Called on the transfer loop's thread, one call at a time, in order.
public protocol ResponseReceiver: Sendable {
    /// The status line and header fields of the final response have arrived.
    func begin(_ head: HTTPResponseHead) throws
    /// Receives the next bytes, which are valid only during the call.
    func receive(_ bytes: UnsafeRawBufferPointer) throws
}

/// One HTTP request, complete and ready to send.
public struct HTTPRequest: Sendable {
    public var method: HTTPMethod
    public var url: RequestURL
    /// Header fields in addition to those that the transport sets (`Host`, `User-Agent`, `Content-Length`, `Expect`).
    public var headers: [HTTPHeader]
    public var body: (any RequestBody)?
    /// The credentials, which are sent only if their origin equals that of the request.
    public var authorization: Authorization?
    /// Maximum wait before a retry or while the server refuses requests; if a longer wait is required, the request
    /// fails instead. nil for the client's policy.
    package var maximumWait: Duration?
    /// Time that a graceful stop allows for the response once the whole request was sent; nil for none. An `atMostOnce`
    /// request keeps its own limit.
    package var finishesWithin: Duration?
    /// Secrets in the address, header fields or body, masked in errors (`KnownSecrets`).
    package var tokens: [String] = []
    public var repeatability: Repeatability
    /// Decides whether a response is retried. Runs on the caller's task, and receives the content if the
    /// destination is memory.
    public var verdict: @Sendable (HTTPResponse) -> ResponseVerdict
    /// Whether a large body is sent with `Expect: 100-continue` (RFC 9110 section 10.1.1), so a refused request does
    /// not send its body. If the server ignores it, the body is sent after a second.
    public var expectsContinue: Bool
    public var timeouts: TransferTimeouts
    public var destination: ResponseDestination

    /// Creates a request. `Accept: application/json` is added by default, and never `text/html` (trap T1).
    public init(
        _ method: HTTPMethod,
        _ url: RequestURL,
        headers: [HTTPHeader] = [HTTPHeader("Accept", "application/json")],
        body: (any RequestBody)? = nil,
        authorization: Authorization? = nil,
        repeatability: Repeatability,
        verdict: @escaping @Sendable (HTTPResponse) -> ResponseVerdict = { _ in .byStatus },
        expectsContinue: Bool = true,
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
        self.expectsContinue = expectsContinue
        self.timeouts = timeouts
        self.destination = destination
    }
}

/// The status line and header fields of a response.
public struct HTTPResponseHead: Sendable, Equatable {
    /// The status code (RFC 9110 section 15).
    public var status: Int
    /// Header fields in order of arrival.
    public var headers: [HTTPHeader]
    /// Why a 401 refused the request's credentials; nil for other responses.
    package var refusal: CredentialRefusal?

    package init(status: Int, headers: [HTTPHeader] = []) {
        self.status = status
        self.headers = headers
    }

    /// The first value of a field; names are case-insensitive (RFC 9110 section 5.1).
    public func value(of name: String) -> String? {
        headers.first { $0.name.lowercased() == name.lowercased() }?.value
    }

    /// The media type of `Content-Type`, lower case, without parameters; nil if absent.
    public var mediaType: String? {
        value(of: "Content-Type").flatMap { $0.split(separator: ";", maxSplits: 1).first }
            .map { $0.trimmingBlanks().lowercased() }
    }
}

/// A response and its measurements.
public struct HTTPResponse: Sendable {
    /// Status and header fields.
    public var head: HTTPResponseHead
    /// The content, if the destination is memory.
    public var body: [UInt8]
    /// Measurements of the call.
    public var metrics: TransferMetrics

    public var status: Int { head.status }

    package init(head: HTTPResponseHead, body: [UInt8], metrics: TransferMetrics) {
        self.head = head
        self.body = body
        self.metrics = metrics
    }
}

/// Measurements of one call.
public struct TransferMetrics: Sendable, Equatable {
    /// Body bytes handed to the network in the last attempt.
    public var bodyBytesSent: Int64 = 0
    /// Whether the whole body was handed to the network in the last attempt.
    public var bodyComplete = false
    /// Content bytes received.
    public var bytesReceived: Int64 = 0
    /// Number of attempts, at least 1.
    public var attempts = 1
    /// Duration of the call, including waits between attempts.
    public var duration = Duration.zero
}

/// The content of a request. Its exact length is known, and it can be read from the start more than once.
public protocol RequestBody: Sendable {
    /// Number of bytes that a reader yields.
    var byteCount: Int64 { get }

    /// Creates a reader at offset 0. Called on the transfer loop's thread.
    ///
    /// - Throws: Any error; it becomes the `underlying` of a `TransportError`.
    func makeReader() throws -> any RequestBodyReader
}

/// Reads a body front to back. Used by one thread, the transfer loop's.
public protocol RequestBodyReader: AnyObject {
    /// Fills as much of `buffer` as it can.
    ///
    /// - Returns: Bytes written; 0 only after the last byte.
    /// - Throws: An error from the source (a file that shrank, an I/O error). It aborts the transfer.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int

    /// Goes back to offset 0.
    ///
    /// - Throws: An error if the source cannot be read again.
    func rewind() throws

    /// Whether sending must pause for now. While this is true, `read` is not called, other transfers continue, and the
    /// stall limit does not run. The transfer can still be stopped.
    var isHeld: Bool { get }

    /// Sets the function to call, from any thread, when `isHeld` has become false.
    func onRelease(_ wake: @escaping @Sendable () -> Void)
}

extension RequestBodyReader {
    /// Always false.
    public var isHeld: Bool { false }

    /// Does nothing.
    public func onRelease(_ wake: @escaping @Sendable () -> Void) {}
}

/// A body held in memory.
public struct BytesBody: RequestBody {
    let bytes: [UInt8]

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Creates a body from a text, encoded in UTF-8.
    public init(_ text: String) {
        bytes = Array(text.utf8)
    }

    public var byteCount: Int64 { Int64(bytes.count) }

    public func makeReader() -> any RequestBodyReader {
        Reader(bytes)
    }

    private final class Reader: RequestBodyReader {
        private let bytes: [UInt8]
        private var offset = 0

        init(_ bytes: [UInt8]) {
            self.bytes = bytes
        }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = min(buffer.count, bytes.count - offset)
            buffer.copyBytes(from: bytes[offset..<offset + count])
            offset += count
            return count
        }

        func rewind() {
            offset = 0
        }
    }
}
