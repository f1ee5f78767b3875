internal import Foundation
internal import GigHive
internal import MediaTransport

/// What keeps an answer from coming. It is called and told the same for all servers.
extension ErrorCatalogue {
    /// What a transport's failure is called and told is the same for all servers.
    static func diagnosis(ofMissingAnswer error: TransportError, isRetryable: Bool) -> Diagnosis {
        switch error.kind {
        case .loginRequired(let origin): return diagnosis(of: CredentialError.loginRequired(origin))
        case .loginExpired(let origin, let time): return diagnosis(of: CredentialError.loginExpired(origin, at: time))
        default: break
        }
        let code: GigHiveError.Code =
            switch error.kind {
            case .unknownHost: .unknownHost
            case .cannotConnect: .cannotConnect
            case .connectTimeout, .stalled, .answerTimeout: .networkTimeout
            case .connectionLost, .invalidAnswer, .repeatRefused: .connectionLost
            case .certificateUntrusted: .certificateUntrusted
            case .certificateNameMismatch: .certificateNameMismatch
            case .pinnedKeyMismatch: .pinnedKeyMismatch
            case .tls: .tlsFailed
            case .responseTooLarge: .unexpectedAnswer
            case .cancelled: .cancelled
            case .loginRequired, .loginExpired, .bodyUnreadable, .receiverFailed, .unusable: .internalError
            }
        return diagnosis(
            of: GigHiveError(code, detail: error.detail, httpStatus: error.head?.status, isRetryable: isRetryable)
        )
    }

    static func networkWords(for error: GigHiveError) -> Words {
        switch error.code {
        case .unknownHost, .cannotConnect:
            if let hint = proxyHint(for: error) { .table(error, hint: hint) } else { Words(error) }
        // Not a lost connection, but a process that ended during an upload.
        case .connectionLost where error.path != nil:
            Words(
                "the upload was interrupted, and its event does not have the file",
                hint: "upload the file again with: mediactl upload \(quoted(error.path ?? []))"
            )
        default: Words(error)
        }
    }

    private static func proxyHint(for error: GigHiveError) -> String? {
        ProxyVariable(blamedBy: error.detail, environment: ProcessInfo.processInfo.environment)?.hint
    }
}
