public import MediaTransport

/// Why a tus request, or the sending of a content, did not succeed.
public struct TusError: Error, Sendable, CustomStringConvertible {
    /// The cause, as far as a caller decides by it.
    public enum Kind: String, Sendable, CaseIterable {
        /// No tus server at this address, or a version or extension that is not offered (412 included).
        case unsupported
        /// 400 and other refusals of the request itself.
        case refused
        /// 401.
        case unauthorized
        /// 403.
        case forbidden
        /// 404 or 410: the upload is not (or no longer) known.
        case gone
        /// The server's offset or length is not what this upload can have (409 that persists, an offset that goes back).
        case conflict
        /// The upload can never be completed, whatever is sent: the server marked it as failed, or its offset is not the end
        /// of a chunk that was sent. A new one may begin.
        case dead
        /// 413 for the smallest chunk, or for the upload as a whole.
        case tooLarge
        /// 423 for longer than the lock limit.
        case locked
        /// 460 (checksum mismatch) that persists.
        case checksumMismatch
        /// 408, 429.
        case rateLimited
        /// 5xx.
        case server
        /// 3xx: never followed.
        case redirected
        /// An answer that cannot be understood.
        case unexpectedAnswer
        /// The bytes on the server are not those of the content: a changed file, never spliced.
        case prefixChanged
        /// The source failed while it was read.
        case sourceFailed
        /// A proof could not be kept; see `underlying`.
        case journal
        /// A stop was asked for.
        case cancelled
        /// No answer; see `transport`.
        case network
    }

    /// The cause.
    public var kind: Kind
    /// The server's or the system's words. May hold control characters.
    public var detail: String
    /// Status of the answer, when there was one.
    public var status: Int?
    /// `Upload-Offset` of the answer in bytes, when it had one.
    public var uploadOffset: Int64?
    /// `Retry-After` in seconds.
    public var retryAfterSeconds: Int?
    /// What a 401 shows about the credentials; nil for other responses.
    package var refusal: CredentialRefusal?
    /// The transport's error.
    public var transport: TransportError?
    /// The error of `TusContent.keep` or of the source.
    public var underlying: (any Error)?
    /// Body bytes sent by the call until it failed.
    public var bytesSent: Int64

    /// Makes an error.
    package init(
        _ kind: Kind,
        detail: String = "",
        status: Int? = nil,
        retryAfterSeconds: Int? = nil,
        transport: TransportError? = nil,
        underlying: (any Error)? = nil,
        bytesSent: Int64 = 0
    ) {
        self.kind = kind
        self.detail = detail
        self.status = status
        self.retryAfterSeconds = retryAfterSeconds
        self.transport = transport
        self.underlying = underlying
        self.bytesSent = bytesSent
    }

    /// Kind and detail, for logs.
    public var description: String {
        detail.isEmpty ? kind.rawValue : "\(kind.rawValue): \(KnownSecrets.masked(detail))"
    }
}
