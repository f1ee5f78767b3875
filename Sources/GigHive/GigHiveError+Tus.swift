internal import MediaStore
internal import MediaTransport
internal import Outcomes
internal import Tus

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
