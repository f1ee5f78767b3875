internal import MediaCore
internal import MediaFiles
package import MediaStore
public import MediaTransport
@_exported public import Outcomes
internal import Tus

/// Why an upload or a deletion failed.
public typealias GigHiveError = MediaError<GigHiveErrorFacts>

/// The facts of errors with uploads and deletions.
public struct GigHiveErrorFacts: ErrorFacts {
    /// Whose credentials a deletion needs (gighive contract 5.1 and 5.2).
    public enum NeededLogin: Sendable, Equatable {
        /// A deletion by token.
        case uploader
        /// A deletion without a token.
        case admin
    }

    /// The detail field concerned (`label`, `event_date`, …); `transport` if a different `TransportChoice` avoids
    /// the failure; `directory` if the file may be in a directory other than the current one; `deletion` if the
    /// outcome of a deletion is unknown; `discard` if an upload cannot be discarded; `event` if the server has the
    /// file, but in an unknown event or in none; `event_link` if the upload requires its event link again.
    public var field: String?
    /// The ID on the server.
    public var fileID: Int64?
    /// The rescue file that still contains a response.
    public var rescuePath: String?
    /// Other hosts in the token store that have the ID.
    public var otherHosts: [String] = []
    /// The hosts whose entry for the ID was removed from the store.
    public var removedHosts: [String] = []
    /// The server that a login is for.
    public var origin: Origin?
    /// When the login expired, in seconds since 1970.
    public var expiredAt: Int64?
    /// The details of an interrupted upload that must be sent again.
    public var details: UploadDetails?
    /// The address of that upload's server.
    public var server: String?
    /// The login that the request requires, if the server shows that a different one was used.
    public var neededLogin: NeededLogin?
    public var retryAfterSeconds: Int?
    /// Whether the error concerns the tus server, a service separate from the application.
    package var isOfTusServer = false
    /// Whether the request was not retried, so the error shows nothing about the run's other uploads.
    var isIsolated = false

    public init() {}
}

extension GigHiveError {
    /// The error for a response with an error status (`OutcomeTable`; gighive contract 2.5 and 5.4). `message` is the
    /// application's message or an HTML page's title; `isJSON` is false for pages from the web server.
    static func ofResponse(
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
            // The application also reports "too large" if the part has a different name (trap T4).
            detail = "the web server refused the size of the request"
        } else if status == 503, !isJSON {
            // The title of the web server's page repeats the status.
            detail = ""
        }
        return GigHiveError(
            outcome.code,
            detail: detail,
            httpStatus: status,
            isRetryable: outcome.isRetryable
        ).with(\.retryAfterSeconds, head.retryAfter.map { Int($0.components.seconds) })
    }

    /// The error for a response whose content was read.
    static func ofResponse(
        _ head: HTTPResponseHead,
        _ content: ResponseText.Content,
        to call: OutcomeTable.Call = .other
    ) -> GigHiveError {
        let words = content.members.text("message") ?? content.members.text("error")
        return .ofResponse(
            head,
            message: words ?? ResponseText.title(of: content.text),
            isJSON: content.form == .json,
            to: call
        )
    }

    /// The error for refused credentials, if a 401 shows more than a wrong password; nil for other responses.
    private static func refusedCredentials(_ head: HTTPResponseHead, message: String? = nil) -> GigHiveError? {
        switch head.refusal {
        case .login(let origin)?:
            .login(.loginRequired, at: origin, detail: message ?? "", httpStatus: head.status)
        case .uploadToken?: GigHiveError(.invalidEventLink, detail: message ?? "", httpStatus: head.status)
        case nil: nil
        }
    }

    /// The error for a login that is missing or no longer valid (gighive-d4 contract section 12): `.loginRequired`,
    /// `.loginExpired` or `.loginUnavailable`. `expiredAt` is in seconds since 1970.
    package static func login(
        _ code: OutcomeCode,
        at origin: Origin,
        detail: String = "",
        httpStatus: Int? = nil,
        expiredAt: Int64? = nil,
        path: [UInt8]? = nil,
        transport: TransportError? = nil
    ) -> GigHiveError {
        GigHiveError(code, detail: detail, httpStatus: httpStatus, path: path, underlying: transport)
            .with(\.origin, origin).with(\.expiredAt, expiredAt)
    }

    static func transport(_ error: TransportError) -> GigHiveError {
        switch error.kind {
        case .loginRequired(let origin): return .login(.loginRequired, at: origin, transport: error)
        case .loginExpired(let origin, let time):
            return .login(.loginExpired, at: origin, expiredAt: time, transport: error)
        default: break
        }
        let code = error.code
        if code != .cancelled, let head = error.head, let refused = refusedCredentials(head) { return refused }
        var described = GigHiveError(
            code,
            detail: error.detail,
            httpStatus: error.head?.status,
            isRetryable: code.isRetryable,
            underlying: error
        )
        if case .rateLimited(let status, let rest) = error.kind {
            described.detail = ""
            described.httpStatus = status
            described.retryAfterSeconds = Int(rest.components.seconds) + 1
        }
        return described
    }

    /// The error for an upload that cannot be discarded, with the ID of its file if this machine has stored it.
    static func notDiscardable(_ record: UploadRecord, _ detail: String) -> GigHiveError {
        let fileID = record.state == .done ? record.fileID : nil
        return GigHiveError(.notResumable, detail: detail, path: record.path).with(\.field, "discard")
            .with(\.fileID, fileID)
    }

    /// The asynchronous form of `stored`.
    static func storing(_ change: @autoclosure () async throws(StoreError) -> Void) async throws(GigHiveError) {
        do { try await change() } catch { throw GigHiveError(error) }
    }

    /// The error for a file without a stored delete token (`.noDeleteToken`), with the store's data about its ID.
    /// `host` is nil for any host.
    package static func withoutToken(_ fileID: Int64, host: String?, in store: TokenStore) -> GigHiveError {
        do {
            let others = try store.tokens(fileID: fileID, host: nil).map(\.host).filter { $0 != host }
            return GigHiveError(.noDeleteToken).with(\.fileID, fileID).with(\.otherHosts, Set(others).sorted())
                .with(\.removedHosts, try store.removedHosts(fileID: fileID, host: host))
        } catch {
            return GigHiveError(error)
        }
    }

    static func source(_ error: SourceFileError) -> GigHiveError {
        GigHiveError(error.code, detail: error.detail, path: error.path)
    }
}

extension GigHiveError {
    /// Whether a tus server refuses further uploads because too many are unfinished (gighive-d4 contract 4.5).
    package var isPendingLimit: Bool {
        self.isOfTusServer && self.httpStatus == 429 && self.detail.contains("Too many pending uploads")
    }

    /// Whether every further upload of the same run would fail for the same reason: it concerns the login, the
    /// connection or the server, not the file. A run stops at the first upload that fails this way after its retries.
    public var endsRun: Bool {
        guard !self.isIsolated else { return false }
        return switch self.code {
        case .unauthorized, .loginRequired, .loginExpired, .unknownHost, .cannotConnect, .tlsFailed,
            .certificateUntrusted, .certificateNameMismatch,
            .pinnedKeyMismatch, .invalidEventLink, .termsNotAccepted, .serverUnavailable:
            true
        // No connection within the time limit.
        case .networkTimeout: self.transport?.kind == .connectTimeout
        default: isOfHTTPSPort
        }
    }

    /// Whether an HTTPS port refused plain HTTP.
    var isOfHTTPSPort: Bool { self.detail == HTTPSPort.detail }

    /// Whether the server refuses all requests for now, so queries that an upload can do without are skipped.
    var isOutage: Bool { self.code == .serverUnavailable || self.code == .rateLimited }

    /// Whether a proxy responded because the application behind it did not.
    var isFromGateway: Bool { self.httpStatus.map { (502...504).contains($0) } ?? false }

    var asUnknownOutcome: GigHiveError {
        var error = self
        error.code = .unknownOutcome
        error.isRetryable = true
        return error
    }

    /// Adds the reason why a query did not help.
    func asUnknownOutcome(_ reason: GigHiveError) -> GigHiveError {
        var error = asUnknownOutcome
        error.detail = [self.detail, "querying the server: \(reason)"].filter { !$0.isEmpty }.joined(separator: "; ")
        if reason.code == .redirected { error.httpStatus = reason.httpStatus }
        return error
    }
}

extension Backoff {
    /// Counts a failed attempt, and returns the delay before the next one; nil if there is none. Only the delays
    /// requested by an unavailable server (503) count toward the total.
    mutating func next(after error: GigHiveError, attempt: Int? = nil) -> Duration? {
        let isOutage = error.code == .serverUnavailable
        return next(retryAfter: .seconds(error.retryAfterSeconds ?? 0), attempt: attempt, isOutage: isOutage)
    }
}

extension GigHiveError {
    static func tus(_ error: TusError, path: [UInt8]? = nil) -> GigHiveError {
        if let transport = error.transport, error.kind == .network {
            return .transport(transport)
        }
        if let store = error.underlying as? StoreError {
            return GigHiveError(store)
        }
        if case .login(let origin)? = error.refusal {
            return .login(.loginRequired, at: origin, detail: error.detail, httpStatus: error.status)
        }
        let code: OutcomeCode
        var isRetryable = false
        switch error.kind {
        case .unsupported: code = .tusUnavailable
        case .gone: (code, isRetryable) = (.uploadExpired, true)
        // The upload on the server is unusable; the file may be uploaded again.
        case .dead: (code, isRetryable) = (.serverError, true)
        // An event link that the server does not accept (gighive-d4 contract 4.1).
        case .unauthorized
        where error.refusal == .uploadToken || error.detail.contains("Invalid or expired upload token"):
            code = .invalidEventLink
        case .conflict, .checksumMismatch: (code, isRetryable) = (.unexpectedResponse, true)
        case .refused, .unauthorized, .forbidden, .tooLarge, .locked, .rateLimited, .server, .redirected:
            let outcome = OutcomeTable.outcome(of: error.status ?? 500, from: .tus)
            (code, isRetryable) = (outcome.code, outcome.isRetryable)
        case .unexpectedResponse: code = .unexpectedResponse
        case .prefixChanged: code = .sourceChanged
        case .sourceFailed: code = .fileUnreadable
        case .journal: code = .internalError
        case .cancelled: code = .cancelled
        case .network: (code, isRetryable) = (.connectionLost, true)
        }
        var described = GigHiveError(
            code,
            // A web page instead of a tus response adds nothing to the status.
            detail: code == .serverUnavailable ? "" : message(in: error.detail),
            httpStatus: error.status,
            isRetryable: isRetryable,
            path: path,
            underlying: error.transport
        ).with(\.retryAfterSeconds, error.retryAfterSeconds)
        described.isOfTusServer = true
        return described
    }

    /// The message of a response in JSON, which servers with tus in PHP send (gighive-d4 contract 4.1); any
    /// other text as it is.
    private static func message(in detail: String) -> String {
        guard detail.hasPrefix("{") else { return detail }
        let members = ResponseText.content(of: Array(detail.utf8)).members
        return members.text("message") ?? members.text("error") ?? detail
    }
}
