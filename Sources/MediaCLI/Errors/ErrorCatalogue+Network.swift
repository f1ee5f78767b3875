internal import Foundation
internal import GigHive
internal import MediaTransport

/// What keeps an answer from coming. It is called and told the same for all servers.
extension ErrorCatalogue {
    /// What a transport's failure is called and told is the same for all servers.
    static func diagnosis(ofMissingAnswer error: TransportError, isRetryable: Bool) -> Diagnosis {
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
            case .bodyUnreadable, .receiverFailed, .unusable: .internalError
            }
        return diagnosis(
            of: GigHiveError(code, detail: error.detail, httpStatus: error.head?.status, isRetryable: isRetryable)
        )
    }

    static func networkWords(for error: GigHiveError) -> Words {
        let pin = "--pinned-key with the pin that mediactl doctor prints"
        let pinning = "--cacert FILE to trust its authority, or \(pin)"
        return switch error.code {
        case .unknownHost:
            Words(
                "the server's name has no address\(error.said)",
                hint: proxyHint(for: error) ?? "check the spelling of --server"
            )
        case .cannotConnect:
            Words(
                "cannot connect to the server\(error.said)",
                hint: proxyHint(for: error) ?? "check --server, its port, and whether it is running"
            )
        case .tlsFailed:
            Words("no secure connection\(error.said)", hint: "check that --server names an https server")
        case .certificateUntrusted:
            Words("the server's certificate is not trusted\(error.said)", hint: "use \(pinning)")
        case .certificateNameMismatch:
            Words(
                "the server's certificate names another host\(error.said)",
                hint: "use the name it was made for as --server, or \(pin)"
            )
        case .pinnedKeyMismatch:
            Words(
                "the server's key is not the pinned one\(error.said)",
                hint: "ask its operator whether the key was changed; do not send anything before"
            )
        case .networkTimeout:
            Words(
                "the network took too long\(error.said)",
                hint: "try again, or raise --connect-timeout, --stall-timeout or --answer-timeout"
            )
        case .connectionLost:
            Words(
                "the connection broke\(error.said)",
                hint: error.path == nil ? "try again" : "send the file again with mediactl upload"
            )
        default:
            Words(
                "the answer was lost; whether the server has the file is unknown\(error.said)",
                hint: "ask later with: mediactl uploads status"
            )
        }
    }

    private static func proxyHint(for error: GigHiveError) -> String? {
        ProxyVariable(blamedBy: error.detail, environment: ProcessInfo.processInfo.environment)?.hint
    }
}
