public import Foundation
public import MediaTransport

/// The features that a server offers (`OPTIONS`).
public struct TusFeatures: Sendable, Equatable {
    /// Extensions of tus 1.0.0.
    public enum Extension: String, Sendable, CaseIterable {
        /// Uploads are created with `POST`.
        case creation
        /// The `POST` may carry the first bytes.
        case creationWithUpload = "creation-with-upload"
        /// The length may be sent later.
        case creationDeferLength = "creation-defer-length"
        /// Unfinished uploads expire, at `Upload-Expires`.
        case expiration
        /// `Upload-Checksum` with a request.
        case checksum
        /// `Upload-Checksum` after the body.
        case checksumTrailer = "checksum-trailer"
        /// `DELETE` discards an upload.
        case termination
        /// Partial uploads can be joined.
        case concatenation
        /// Partial uploads may be joined before they are complete.
        case concatenationUnfinished = "concatenation-unfinished"
    }

    /// `Tus-Version`, in the server's order.
    public var versions = ["1.0.0"]
    /// `Tus-Extension`; unknown ones are ignored.
    public var extensions: Set<Extension> = []
    /// `Tus-Max-Size` in bytes; nil if not sent.
    public var maximumBytes: Int64?
    /// `Tus-Checksum-Algorithm`.
    public var checksumAlgorithms: [String] = []

    /// Whether `Upload-Offset` counts chunks, not the stored bytes as in tus 1.0.0: on a server that has a size limit
    /// and cannot delete uploads (gighive-d4 contract section 1). All chunks but the last must have the size of the
    /// first chunk, which is at most 20 MiB (4.2 and 4.3).
    public var countsChunks: Bool {
        extensions.contains(.creation) && !extensions.contains(.termination) && maximumBytes != nil
    }
}

/// A created upload.
public struct TusCreation: Sendable, Equatable {
    /// Last segment of `Location`.
    public var id: String
    /// `Upload-Expires`, if sent.
    public var expiresAt: Date?
}

/// The progress of an upload (`HEAD`).
public struct TusStatus: Sendable, Equatable {
    /// `Upload-Offset` in bytes.
    public var offset: Int64
    /// `Upload-Length` in bytes; nil while deferred.
    public var byteCount: Int64?
    /// `Upload-Expires`, if sent.
    public var expiresAt: Date?
}

extension TusError {
    /// The meaning of an unsuccessful response with any status: statuses of tus 1.0.0, and statuses of RFC 9110, which
    /// mostly come from proxies.
    init(response: HTTPResponse, to method: HTTPMethod) {
        self.init(
            Self.kind(of: response, to: method),
            detail: Self.words(of: response),
            status: response.status,
            retryAfterSeconds: response.head.retryAfter.map { Int($0.components.seconds) }
        )
        uploadOffset = response.head.byteCount("Upload-Offset")
        refusal = response.head.refusal
    }

    private static func kind(of response: HTTPResponse, to method: HTTPMethod) -> Kind {
        switch response.status {
        case 300..<400: .redirected
        case 401: .unauthorized
        case 403: .forbidden
        case 404, 410:
            if method == .options || method == .post {
                .unsupported
            } else {
                // A proxy's page shows nothing about the upload.
                isWebPage(response) ? .unexpectedResponse : .gone
            }
        case 405, 412, 501: .unsupported
        case 408, 429: .rateLimited
        case 409: .conflict
        case 413: .tooLarge
        case 423: .locked
        case 460: .checksumMismatch
        case 400..<500: .refused
        case 500...: .server
        default: .unexpectedResponse
        }
    }

    /// Every response from a tus server, except to `OPTIONS`, has `Tus-Resumable`.
    static func isWebPage(_ response: HTTPResponse) -> Bool {
        response.head.mediaType == "text/html" && response.head.value(of: "Tus-Resumable") == nil
    }

    private static func words(of response: HTTPResponse) -> String {
        if (300..<400).contains(response.status), let location = response.head.value(of: "Location") {
            return "redirected to \(location)"
        }
        if isWebPage(response) { return "the response is a web page, not from a tus server" }
        return String(decoding: response.body.prefix(300), as: UTF8.self)
    }

    init(_ error: TransportError) {
        switch error.kind {
        case .cancelled: self.init(.cancelled, transport: error)
        case .bodyUnreadable:
            self.init(.sourceFailed, detail: "\(error.underlying ?? error)", underlying: error.underlying)
        default: self.init(.network, detail: error.description, status: error.head?.status, transport: error)
        }
    }

    var isRetryable: Bool {
        switch kind {
        case .conflict, .checksumMismatch, .rateLimited, .server, .unexpectedResponse: true
        case .network:
            switch transport?.kind {
            case .certificateUntrusted, .certificateNameMismatch, .pinnedKeyMismatch, .tls, .unusable,
                .responseTooLarge, .loginRequired, .loginExpired:
                false
            default: true
            }
        case .unsupported, .refused, .unauthorized, .forbidden, .gone, .tooLarge, .locked, .redirected,
            .prefixChanged, .dead, .sourceFailed, .journal, .cancelled:
            false
        }
    }

    /// Whether the chunk was interrupted during the transfer, so a smaller one may succeed.
    var isCut: Bool {
        if let transport { return transport.metrics.bodyBytesSent > 0 }
        return status == 408 || status == 500 || status == 502 || status == 504
    }
}

extension TusError {
    /// The meaning of a response to a `PATCH` for an upload whose offsets count chunks (gighive-d4 contract 4.1 and
    /// 4.4): nil unless the server can never complete it. A 500 ends an upload immediately, and older releases append
    /// the bytes even so, so a retry would duplicate them.
    var asDead: TusError? {
        guard transport == nil, status == 500 || (status == 409 && uploadOffset == nil) else { return nil }
        var dead = self
        dead.kind = .dead
        if dead.detail.isEmpty { dead.detail = "the server could not store the chunk" }
        return dead
    }
}

/// Why a tus request, or sending content, failed.
public struct TusError: Error, Sendable, CustomStringConvertible {
    /// The cause, as detailed as callers need it.
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
        /// The server's offset or length is impossible for this upload (409 that persists, an offset that decreases).
        case conflict
        /// The upload can never be completed: the server marked it as failed, or its offset is not the end of a chunk
        /// that was sent. A new upload may be created.
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
        case unexpectedResponse
        /// The bytes on the server differ from the content: the file changed, and the versions are never mixed.
        case prefixChanged
        case sourceFailed
        /// A proof or the start of a chunk could not be stored; see `underlying`.
        case journal
        /// A stop was requested.
        case cancelled
        /// No response; see `transport`.
        case network
    }

    /// The cause.
    public var kind: Kind
    /// The message from the server or the system. May contain control characters.
    public var detail: String
    public var status: Int?
    /// `Upload-Offset` of the response in bytes, if it had one.
    public var uploadOffset: Int64?
    public var retryAfterSeconds: Int?
    /// Why a 401 refused the credentials; nil for other responses.
    package var refusal: CredentialRefusal?
    public var transport: TransportError?
    /// The error from `TusContent.begin`, from `TusContent.keep` or from the source.
    public var underlying: (any Error)?
    /// Body bytes sent by the call until it failed.
    public var bytesSent: Int64 = 0

    package init(
        _ kind: Kind,
        detail: String = "",
        status: Int? = nil,
        retryAfterSeconds: Int? = nil,
        transport: TransportError? = nil,
        underlying: (any Error)? = nil
    ) {
        self.kind = kind
        self.detail = detail
        self.status = status
        self.retryAfterSeconds = retryAfterSeconds
        self.transport = transport
        self.underlying = underlying
    }

    /// Kind and detail, for logs.
    public var description: String {
        detail.isEmpty ? kind.rawValue : "\(kind.rawValue): \(KnownSecrets.masked(detail))"
    }
}
