internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport
@_exported public import Outcomes
internal import Tus

/// Why an upload or a deletion did not end well: facts for the caller to classify and to phrase.
public struct GigHiveError: Error, Sendable, CustomStringConvertible {
    /// Whose credentials a deletion needs (gighive contract 5.1 and 5.2).
    public enum NeededLogin: Sendable, Equatable {
        /// A deletion by token.
        case uploader
        /// A deletion without token.
        case admin
    }

    /// What happened.
    public var code: OutcomeCode
    /// What the server, the system or the rule said. May hold control characters; escape before printing.
    public var detail: String
    /// Status of the answer, when there was one.
    public var httpStatus: Int?
    /// Whether the same call may succeed later.
    public var isRetryable: Bool
    /// Local path concerned, as bytes.
    public var path: [UInt8]?
    /// The detail field concerned (`label`, `event_date`, …); `transport` when another `TransportChoice` avoids the failure.
    public var field: String?
    /// The offending value as given.
    public var value: String?
    /// The limit that was passed, in the field's unit (bytes, scalars).
    public var limit: Int64?
    /// The server's id concerned.
    public var fileID: Int64?
    /// The rescue file that still holds a reply.
    public var rescuePath: String?
    /// Other hosts of the token store that know the id.
    public var otherHosts: [String]
    /// The hosts on which the entry of the id was removed from the store.
    public var removedHosts: [String] = []
    /// The server that a login is for.
    public var origin: Origin?
    /// When the login expired, in seconds since 1970.
    public var expiredAt: Int64?
    /// The login that the request was made for, when the server took it for one of another user.
    public var neededLogin: NeededLogin?
    /// `Retry-After`, in seconds.
    public var retryAfterSeconds: Int?
    /// Whether it is about the tus server, which is a service apart from the application.
    package var isOfTusServer = false
    /// Whether it was not retried, so that it shows nothing about the other uploads of the run.
    var isIsolated = false
    /// Whether a tus server refuses further uploads because of those that were not completed (gighive-d4 contract 4.5).
    package var isPendingLimit: Bool {
        isOfTusServer && httpStatus == 429 && detail.contains("Too many pending uploads")
    }
    /// The store's own error.
    public var store: StoreError?
    /// The transport's own error.
    public var transport: TransportError?

    package init(
        _ code: OutcomeCode,
        detail: String = "",
        httpStatus: Int? = nil,
        isRetryable: Bool = false,
        path: [UInt8]? = nil,
        field: String? = nil,
        value: String? = nil,
        limit: Int64? = nil,
        fileID: Int64? = nil,
        rescuePath: String? = nil,
        otherHosts: [String] = [],
        neededLogin: NeededLogin? = nil,
        retryAfterSeconds: Int? = nil,
        store: StoreError? = nil,
        transport: TransportError? = nil
    ) {
        self.code = code
        self.detail = detail
        self.httpStatus = httpStatus
        self.isRetryable = isRetryable
        self.path = path
        self.field = field
        self.value = value
        self.limit = limit
        self.fileID = fileID
        self.rescuePath = rescuePath
        self.otherHosts = otherHosts
        self.neededLogin = neededLogin
        self.retryAfterSeconds = retryAfterSeconds
        self.store = store
        self.transport = transport
    }

    /// Code and detail, for logs.
    public var description: String {
        detail.isEmpty ? code.rawValue : "\(code.rawValue): \(KnownSecrets.masked(detail))"
    }
}

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
            outcome.code,
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
        _ code: OutcomeCode,
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
        let code: OutcomeCode
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
        error.code = .unknownOutcome
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

extension GigHiveError {
    /// Why a tus request, or the sending of a file, did not succeed.
    static func tus(_ error: TusError, path: [UInt8]? = nil) -> GigHiveError {
        if let transport = error.transport, error.kind == .network {
            return .transport(transport)
        }
        if let store = error.underlying as? StoreError {
            return .store(store)
        }
        if case .login(let origin)? = error.refusal {
            return .login(.loginRequired, at: origin, detail: error.detail, httpStatus: error.status)
        }
        let code: OutcomeCode
        var isRetryable = false
        switch error.kind {
        case .unsupported: code = .tusUnavailable
        case .gone: (code, isRetryable) = (.uploadExpired, true)
        // The upload on the server is of no use; the file may be uploaded again.
        case .dead: (code, isRetryable) = (.serverError, true)
        // An event link that the server does not accept (gighive-d4 contract 4.1).
        case .unauthorized
        where error.refusal == .uploadToken || error.detail.contains("Invalid or expired upload token"):
            code = .invalidEventLink
        case .conflict, .checksumMismatch: (code, isRetryable) = (.unexpectedAnswer, true)
        case .refused, .unauthorized, .forbidden, .tooLarge, .locked, .rateLimited, .server, .redirected:
            let outcome = OutcomeTable.outcome(of: error.status ?? 500, from: .tus)
            (code, isRetryable) = (outcome.code, outcome.isRetryable)
        case .unexpectedAnswer: code = .unexpectedAnswer
        case .prefixChanged: code = .sourceChanged
        case .sourceFailed: code = .fileUnreadable
        case .journal: code = .internalError
        case .cancelled: code = .cancelled
        case .network: (code, isRetryable) = (.connectionLost, true)
        }
        var described = GigHiveError(
            code,
            // A web page in place of a tus response is what the status says.
            detail: code == .serverUnavailable ? "" : message(in: error.detail),
            httpStatus: error.status,
            isRetryable: isRetryable,
            path: path,
            retryAfterSeconds: error.retryAfterSeconds,
            transport: error.transport
        )
        described.isOfTusServer = true
        return described
    }

    /// The message of a response in JSON, which servers with tus in PHP send (gighive-d4 contract 4.1); any other text as it is.
    private static func message(in detail: String) -> String {
        guard detail.hasPrefix("{") else { return detail }
        let members = ReplyText.content(of: Array(detail.utf8)).members
        return members.text("message") ?? members.text("error") ?? detail
    }
}
