internal import MediaTransport

/// What a request is for, as far as the meaning of a status depends on it.
enum TusVerb {
    case options
    case create
    case head
    case patch
    case delete
}

extension TusError {
    /// The meaning of an answer that is not the one hoped for: the whole table of statuses (tus 1.0.0; RFC 9110 for the
    /// rest, which comes from proxies more often than not).
    init(answer: HTTPResponse, to verb: TusVerb) {
        self.init(
            Self.kind(of: answer, to: verb),
            detail: Self.words(of: answer),
            status: answer.status,
            retryAfterSeconds: answer.head.retryAfter.map { Int($0.components.seconds) }
        )
        uploadOffset = answer.head.byteCount("Upload-Offset")
        refusal = answer.head.refusal
    }

    private static func kind(of answer: HTTPResponse, to verb: TusVerb) -> Kind {
        switch answer.status {
        case 300..<400: .redirected
        case 401: .unauthorized
        case 403: .forbidden
        case 404, 410:
            switch verb {
            case .options, .create: .unsupported
            // A proxy's page says nothing about the upload.
            case .head, .patch, .delete: isWebPage(answer) ? .unexpectedAnswer : .gone
            }
        case 405, 412, 501: .unsupported
        case 408, 429: .rateLimited
        case 409: .conflict
        case 413: .tooLarge
        case 423: .locked
        case 460: .checksumMismatch
        case 400..<500: .refused
        case 500...: .server
        default: .unexpectedAnswer
        }
    }

    /// Every answer of a tus server but that to `OPTIONS` has `Tus-Resumable`.
    private static func isWebPage(_ answer: HTTPResponse) -> Bool {
        answer.head.mediaType == "text/html" && answer.head.value(of: "Tus-Resumable") == nil
    }

    private static func words(of answer: HTTPResponse) -> String {
        if (300..<400).contains(answer.status), let location = answer.head.value(of: "Location") {
            return "redirected to \(location)"
        }
        if isWebPage(answer) { return "the response is a web page, not from a tus server" }
        return String(decoding: answer.body.prefix(300), as: UTF8.self)
    }

    /// What a transfer without an answer means.
    init(_ error: TransportError) {
        switch error.kind {
        case .cancelled: self.init(.cancelled, transport: error)
        case .bodyUnreadable:
            self.init(.sourceFailed, detail: "\(error.underlying ?? error)", underlying: error.underlying)
        default: self.init(.network, detail: error.description, status: error.head?.status, transport: error)
        }
    }

    /// Whether the same may go well a little later.
    var isWorthAnotherTry: Bool {
        switch kind {
        case .conflict, .checksumMismatch, .rateLimited, .server, .unexpectedAnswer: true
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

    /// Whether something on the way could not carry the chunk to its end, so that a smaller one may do better.
    var isCut: Bool {
        if let transport { return transport.metrics.bodyBytesSent > 0 }
        return status == 408 || status == 500 || status == 502 || status == 504
    }
}

extension TusError {
    /// What an answer to a `PATCH` means for the upload itself where offsets count chunks (gighive-d4 contract 4.1 and 4.4):
    /// nil unless the server never completes it. A 500 ends an upload at once, and older releases have appended the bytes
    /// besides, so that a second attempt would double them.
    var asDead: TusError? {
        guard transport == nil, status == 500 || (status == 409 && uploadOffset == nil) else { return nil }
        var dead = self
        dead.kind = .dead
        if dead.detail.isEmpty { dead.detail = "the server could not store the chunk" }
        return dead
    }
}
