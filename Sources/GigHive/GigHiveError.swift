internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport
internal import Outcomes
internal import Tus

/// Why an upload or a deletion did not end well: facts for the caller to classify and to phrase.
public struct GigHiveError: Error, Sendable, CustomStringConvertible {
    /// Stable codes; the raw values appear in `--json` output.
    public enum Code: String, Sendable, CaseIterable {
        // Found before anything is sent.
        /// A detail breaks a rule of the server's; `field`, `value`, `detail` and `limit` say which.
        case invalidDetail = "invalid_detail"
        /// There is no such file.
        case fileNotFound = "file_not_found"
        /// The file cannot be opened, or reading it failed.
        case fileUnreadable = "file_unreadable"
        /// It is a directory; only files are sent.
        case isDirectory = "is_directory"
        /// It is a FIFO, a socket or a device.
        case notRegularFile = "not_regular_file"
        /// The file has no bytes.
        case emptyFile = "empty_file"
        /// It has more bytes than `limit`.
        case fileTooLarge = "file_too_large"
        /// The server does not list the extension, and `UploadOptions.anyExtension` is off.
        case unknownExtension = "unknown_extension"
        /// A living process is sending the same file. Passes when that has ended.
        case uploadInProgress = "upload_in_progress"
        /// The token store or its directory failed; see `store`. Nothing is sent without it.
        case storeUnusable = "store_unusable"
        // Answers.
        /// 400.
        case badRequest = "bad_request"
        /// 401: wrong user or password, or a user without this right.
        case unauthorized = "unauthorized"
        /// 401 of a server that requires a login, not a password; or a login that it does not accept any more. See `origin`.
        case loginRequired = "login_required"
        /// The stored login expired. Nothing was sent; see `origin` and `expiredAt`.
        case loginExpired = "login_expired"
        /// The server has no login; it requires a user name and password.
        case loginUnavailable = "login_unavailable"
        /// 403: the login may not do this; see `neededLogin`.
        case forbidden = "forbidden"
        /// 404: no such address, or no such file.
        case notFound = "not_found"
        /// 408: the server waited too long for the body.
        case requestTimeout = "request_timeout"
        /// 409 that is not a duplicate: the request conflicts with the state of the server.
        case conflict
        /// 413: too large for the web server or the application, or, from the application, a part that it does not
        /// know.
        case payloadTooLarge = "payload_too_large"
        /// 415: the server does not take this type of file.
        case unsupportedMedia = "unsupported_media"
        /// 423, for longer than a tus lock is waited for where it is one.
        case locked = "locked"
        /// 429; see `retryAfterSeconds`.
        case rateLimited = "rate_limited"
        /// 5xx, when the server cannot have stored the file or was asked and has not.
        case serverError = "server_error"
        /// 503: the web server responds, and the application or the tus server behind it is not running (trap T24).
        case serverUnavailable = "server_unavailable"
        /// The server lost the upload because other uploads created the same event or number at the same time (trap T19).
        case serverRace = "server_race"
        /// The server has these bytes as `fileID`, in another event, and refused to add them to this one.
        case refusedDuplicate = "refused_duplicate"
        /// 3xx, never followed; `detail` is the `Location`.
        case redirected = "redirected"
        /// An answer that cannot be understood, or is far too long; often a proxy's.
        case unexpectedAnswer = "unexpected_answer"
        // Network.
        /// The host name has no address.
        case unknownHost = "unknown_host"
        /// No connection: refused, unreachable, or a proxy's refusal.
        case cannotConnect = "cannot_connect"
        /// No secure connection, for another reason than the three below.
        case tlsFailed = "tls_failed"
        /// The certificate is not signed by a known authority.
        case certificateUntrusted = "certificate_untrusted"
        /// The certificate names another host.
        case certificateNameMismatch = "certificate_name_mismatch"
        /// The server's public key is not the pinned one. Nothing was sent.
        case pinnedKeyMismatch = "pinned_key_mismatch"
        /// Connecting, sending or the answer took longer than `TransferTimeouts` allows, and the server cannot have
        /// acted.
        case networkTimeout = "network_timeout"
        /// The connection broke, or the answer ended early, and the server cannot have acted.
        case connectionLost = "connection_lost"
        /// The answer was lost, and asking did not tell whether the server has the file. It is never sent again on a
        /// guess.
        case outcomeUnknown = "unknown_outcome"
        // Integrity.
        /// The server's SHA-256 is not that of the bytes sent. The token is kept, so that the bad copy can be deleted.
        case checksumMismatch = "checksum_mismatch"
        /// The file is not the one that was begun: changed while it was sent, or since the upload was cut.
        case sourceChanged = "source_changed"
        // Tokens.
        /// The file is on the server as `fileID`, and its delete token came to nobody.
        case tokenLost = "token_lost"
        /// The file is on the server, and its token is safe only in `rescuePath`.
        case tokenNotStored = "token_not_stored"
        /// The server rejects the delete token although it still has the file.
        case invalidDeleteToken = "invalid_delete_token"
        /// There is no token for `fileID` of this host here; `otherHosts` have one.
        case noDeleteToken = "no_delete_token"
        /// The server has another file under this id now. Nothing was deleted.
        case idReused = "id_reused"
        /// The server answered, and did not confirm the deletion.
        case notDeleted = "not_deleted"
        /// The server reports that it deleted other files than the requested one; `detail` has their IDs.
        case otherFilesDeleted = "other_files_deleted"
        /// A deletion without token was asked for, and that the server has the same file cannot be made sure of.
        case adminUnverified = "admin_unverified"
        // Listings.
        /// The server does not report the value that a filter compares; `field` is the filter.
        case filterUnavailable = "filter_unavailable"
        // Resumable uploads.
        /// The server offers no resumable uploads, and nothing else was allowed.
        case tusUnavailable = "tus_unavailable"
        /// The server has forgotten the upload (404 or 410). A new one may begin.
        case uploadExpired = "upload_expired"
        /// The upload has ended, belongs to another host, or its file is gone.
        case notResumable = "not_resumable"
        // Guests.
        /// The event link is malformed, expired, revoked, or for another server.
        case invalidEventLink = "invalid_event_link"
        /// The organizer requires the terms to be accepted, and `GuestAccess` does not accept them.
        case termsNotAccepted = "terms_not_accepted"
        // Ends.
        /// The task was cancelled, or a stop was asked for, while that was still possible.
        case cancelled
        /// A mistake of this library's, or a client that was shut down.
        case internalError = "internal_error"
    }

    /// Whose credentials a deletion needs (gighive contract 5.1 and 5.2).
    public enum NeededLogin: Sendable, Equatable {
        /// A deletion by token.
        case uploader
        /// A deletion without token.
        case admin
    }

    /// What happened.
    public var code: Code
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

    /// Makes an error.
    package init(
        _ code: Code,
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
        let code: Code
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
            (code, isRetryable) = (Code(rawValue: outcome.code) ?? .unexpectedAnswer, outcome.isRetryable)
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
