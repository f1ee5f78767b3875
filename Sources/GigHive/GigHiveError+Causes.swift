internal import MediaFiles
package import MediaStore
internal import MediaSystem
package import MediaTransport
internal import Outcomes

extension GigHiveError {
    /// The error for a response with an error status (`OutcomeTable`; gighive contract 2.5 and 5.4).
    ///
    /// - Parameters:
    ///   - head: Status and header fields.
    ///   - message: The application's words, or an HTML page's title.
    ///   - isJSON: Whether the application itself answered; pages of the web server are HTML.
    ///   - call: What was requested.
    /// - Returns: The error, classified.
    static func answered(
        _ head: HTTPResponseHead,
        message: String?,
        isJSON: Bool,
        to call: OutcomeTable.Call = .other
    ) -> GigHiveError {
        if case .guest = call {} else if let refused = refusedCredentials(head, message: message) { return refused }
        let status = head.status
        let outcome = OutcomeTable.outcome(of: status, from: .gigHive, to: call, mark: isJSON ? message : nil)
        var detail = message ?? ""
        if (300..<400).contains(status) {
            detail = head.value(of: "Location") ?? detail
        } else if status == 413, !isJSON {
            // The application says "too large" as well when the part has another name (trap T4).
            detail = "the web server refused the size of the request"
        } else if status == 503, !isJSON {
            // The title of the web server's page repeats the status.
            detail = ""
        }
        return GigHiveError(
            Code(rawValue: outcome.code) ?? .unexpectedAnswer,
            detail: detail,
            httpStatus: status,
            isRetryable: outcome.isRetryable,
            retryAfterSeconds: head.retryAfter.map { Int($0.components.seconds) }
        )
    }

    /// What a 401 shows about the credentials beyond a wrong password; nil for other responses.
    private static func refusedCredentials(_ head: HTTPResponseHead, message: String? = nil) -> GigHiveError? {
        switch head.refusal {
        case .login(let origin)?:
            .login(.loginRequired, at: origin, detail: message ?? "", httpStatus: head.status)
        case .uploadToken?: GigHiveError(.invalidEventLink, detail: message ?? "", httpStatus: head.status)
        case nil: nil
        }
    }

    /// A login that is missing, or not valid any more (gighive-d4 contract section 12).
    ///
    /// - Parameters:
    ///   - code: `.loginRequired`, `.loginExpired` or `.loginUnavailable`.
    ///   - origin: The server.
    ///   - detail: The server's words.
    ///   - httpStatus: Status of the response, if there was one.
    ///   - expiredAt: Seconds since 1970.
    ///   - path: The local file concerned, as bytes.
    ///   - transport: The transport's own error.
    /// - Returns: The error.
    package static func login(
        _ code: Code,
        at origin: Origin,
        detail: String = "",
        httpStatus: Int? = nil,
        expiredAt: Int64? = nil,
        path: [UInt8]? = nil,
        transport: TransportError? = nil
    ) -> GigHiveError {
        var error = GigHiveError(code, detail: detail, httpStatus: httpStatus, path: path, transport: transport)
        error.origin = origin
        error.expiredAt = expiredAt
        return error
    }

    /// A missing answer.
    static func transport(_ error: TransportError) -> GigHiveError {
        let code: Code
        var isRetryable = false
        switch error.kind {
        case .unknownHost: (code, isRetryable) = (.unknownHost, true)
        case .cannotConnect: (code, isRetryable) = (.cannotConnect, true)
        case .connectTimeout, .stalled, .answerTimeout: (code, isRetryable) = (.networkTimeout, true)
        case .connectionLost, .invalidAnswer, .repeatRefused: (code, isRetryable) = (.connectionLost, true)
        case .certificateUntrusted: code = .certificateUntrusted
        case .certificateNameMismatch: code = .certificateNameMismatch
        case .pinnedKeyMismatch: code = .pinnedKeyMismatch
        case .tls: code = .tlsFailed
        case .responseTooLarge: code = .unexpectedAnswer
        case .bodyUnreadable: code = .fileUnreadable
        case .cancelled: code = .cancelled
        case .loginRequired(let origin): return .login(.loginRequired, at: origin, transport: error)
        case .loginExpired(let origin, let time):
            return .login(.loginExpired, at: origin, expiredAt: time, transport: error)
        case .receiverFailed, .unusable: code = .internalError
        }
        if code != .cancelled, let head = error.head, let refused = refusedCredentials(head) { return refused }
        return GigHiveError(
            code,
            detail: error.detail,
            httpStatus: error.head?.status,
            isRetryable: isRetryable,
            transport: error
        )
    }

    /// The local store failed.
    static func store(_ error: StoreError) -> GigHiveError {
        GigHiveError(.storeUnusable, detail: error.detail, store: error)
    }

    /// Asks the local store, whose failure becomes this error.
    static func reading<Value>(_ query: () throws(StoreError) -> Value) throws(GigHiveError) -> Value {
        do {
            return try query()
        } catch {
            throw .store(error)
        }
    }

    /// The error for a file without a stored delete token, with what the store knows about its ID.
    ///
    /// - Parameters:
    ///   - fileID: The server's ID.
    ///   - host: The requested host; nil for any.
    ///   - store: The token store.
    /// - Returns: `.noDeleteToken`, or `.storeUnusable`.
    package static func withoutToken(_ fileID: Int64, host: String?, in store: TokenStore) -> GigHiveError {
        do {
            let others = try store.tokens(fileID: fileID, host: nil).map(\.host).filter { $0 != host }
            var error = GigHiveError(.noDeleteToken, fileID: fileID, otherHosts: Set(others).sorted())
            error.removedHosts = try store.removedHosts(fileID: fileID, host: host)
            return error
        } catch {
            return .store(error)
        }
    }

    /// The local file failed.
    static func source(_ error: SourceFileError) -> GigHiveError {
        switch error.kind {
        case .notFound: GigHiveError(.fileNotFound, path: error.path)
        case .permissionDenied: GigHiveError(.fileUnreadable, detail: "permission denied", path: error.path)
        case .isDirectory: GigHiveError(.isDirectory, path: error.path)
        case .notRegular: GigHiveError(.notRegularFile, path: error.path)
        case .empty: GigHiveError(.emptyFile, path: error.path)
        case .io(let number):
            GigHiveError(.fileUnreadable, detail: SystemError.words(number), path: error.path)
        }
    }
}

extension GigHiveError {
    /// Whether every further upload of the same run would fail for the same reason: it concerns the login, the connection or
    /// the server, not the file. A run ends with the first upload that fails this way after its retries.
    public var endsRun: Bool {
        guard !isIsolated else { return false }
        return switch code {
        case .unauthorized, .loginRequired, .loginExpired, .unknownHost, .cannotConnect, .tlsFailed,
            .certificateUntrusted, .certificateNameMismatch,
            .pinnedKeyMismatch, .invalidEventLink, .termsNotAccepted, .serverUnavailable:
            true
        // No connection within the time limit.
        case .networkTimeout: transport?.kind == .connectTimeout
        default: false
        }
    }

    /// The same facts, told as an outcome that nobody knows.
    var asUnknownOutcome: GigHiveError {
        var error = self
        error.code = .outcomeUnknown
        error.isRetryable = true
        return error
    }

    /// With the reason why asking did not help.
    func asUnknownOutcome(_ reason: GigHiveError) -> GigHiveError {
        var error = asUnknownOutcome
        error.detail = [detail, "querying the server: \(reason)"].filter { !$0.isEmpty }.joined(separator: "; ")
        if reason.code == .redirected { error.httpStatus = reason.httpStatus }
        return error
    }
}

extension Backoff {
    /// Counts a failed attempt; only what an unavailable server (503) requests adds up.
    ///
    /// - Returns: The delay before the next attempt; nil if there is none.
    mutating func next(after error: GigHiveError, attempt: Int? = nil) -> Duration? {
        let isOutage = error.code == .serverUnavailable
        return next(retryAfter: .seconds(error.retryAfterSeconds ?? 0), attempt: attempt, isOutage: isOutage)
    }
}
