internal import MediaStore
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
        let code: Code
        var isRetryable = false
        switch error.kind {
        case .unsupported: code = .tusUnavailable
        case .refused: code = .badRequest
        case .unauthorized: code = .unauthorized
        case .forbidden: code = .forbidden
        case .gone: (code, isRetryable) = (.uploadExpired, true)
        case .conflict, .checksumMismatch: (code, isRetryable) = (.unexpectedAnswer, true)
        case .tooLarge: code = .payloadTooLarge
        case .locked: (code, isRetryable) = (.locked, true)
        case .rateLimited: (code, isRetryable) = (error.status == 408 ? .requestTimeout : .rateLimited, true)
        case .server: (code, isRetryable) = (.serverError, true)
        case .redirected: code = .redirected
        case .unexpectedAnswer: code = .unexpectedAnswer
        case .prefixChanged: code = .sourceChanged
        case .sourceFailed: code = .fileUnreadable
        case .journal: code = .internalError
        case .cancelled: code = .cancelled
        case .network: (code, isRetryable) = (.connectionLost, true)
        }
        return GigHiveError(
            code,
            detail: error.detail,
            httpStatus: error.status,
            isRetryable: isRetryable,
            path: path,
            retryAfterSeconds: error.retryAfterSeconds,
            transport: error.transport
        )
    }
}
