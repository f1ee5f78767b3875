internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport
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
        let status = head.status
        let retryAfter = head.value(of: "Retry-After").flatMap { RetryAfter.parse($0, now: UnixTime.now()) }
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
            retryAfterSeconds: retryAfter.map { Int($0.components.seconds) }
        )
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
        case .receiverFailed, .unusable: code = .internalError
        }
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
        case .unauthorized, .unknownHost, .cannotConnect, .tlsFailed, .certificateUntrusted, .certificateNameMismatch,
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
        return error
    }
}
