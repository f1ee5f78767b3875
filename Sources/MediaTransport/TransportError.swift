internal import MediaSystem
package import Outcomes

/// Why a transfer failed without a response.
public struct TransportError: Error, Sendable, CustomStringConvertible {
    /// The cause, as detailed as callers need it.
    public enum Kind: Sendable, Equatable {
        /// The host name cannot be resolved.
        case unknownHost
        /// No connection: refused, unreachable, or refused by a proxy.
        case cannotConnect
        /// Connecting took longer than the limit.
        case connectTimeout
        /// The certificate is not signed by a known authority (for example, it is self-signed).
        case certificateUntrusted
        /// The certificate is for a different host.
        case certificateNameMismatch
        /// The certificate's public key is not the pinned one.
        case pinnedKeyMismatch
        /// Any other TLS failure, including a CA file that cannot be read.
        case tls
        /// The peer did not accept any bytes within the stall limit while the body was being sent, or did not continue
        /// a response that had begun.
        case stalled
        /// No response within the limit after the last body byte.
        case responseTimeout
        /// The connection was lost, or the response ended early.
        case connectionLost
        /// The peer violated the protocol.
        case invalidResponse
        /// The response is larger than the request allowed.
        case responseTooLarge
        /// The body's source failed; see `underlying`.
        case bodyUnreadable
        /// The receiver of the response failed; see `underlying`.
        case receiverFailed
        /// The request required resending a body that may be sent only once.
        case repeatRefused
        /// Nothing was sent: the credentials are a password, and the origin requires a login.
        case loginRequired(Origin)
        /// Nothing was sent: the login expired at this time, in seconds since 1970.
        case loginExpired(Origin, at: Int64)
        /// Nothing was sent: the server refuses requests (429 or 503) for this time.
        case rateLimited(status: Int, rest: Duration)
        case cancelled
        /// libcurl could not be set up.
        case unusable
    }

    public var kind: Kind
    /// The message from libcurl or the system. Never contains a secret.
    public var detail: String
    /// The error from a body source or a receiver.
    public var underlying: (any Error)?
    /// The measurements when the transfer failed. If `bodyComplete`, the server may have processed the request.
    public var metrics: TransferMetrics
    /// The head of the final response, if it had arrived completely.
    public var head: HTTPResponseHead?

    package init(
        _ kind: Kind,
        detail: String = "",
        underlying: (any Error)? = nil,
        metrics: TransferMetrics? = nil
    ) {
        self.kind = kind
        self.detail = detail
        self.underlying = underlying
        self.metrics = metrics ?? TransferMetrics()
    }

    /// Whether the server cannot have seen the request: the connection was never made.
    public var isBeforeRequest: Bool {
        switch kind {
        case .unknownHost, .cannotConnect, .connectTimeout, .certificateUntrusted, .certificateNameMismatch,
            .pinnedKeyMismatch, .tls, .loginRequired, .loginExpired, .rateLimited:
            metrics.bodyBytesSent == 0 && head == nil
        default: false
        }
    }

    /// Kind and detail, for logs.
    public var description: String {
        detail.isEmpty ? "\(kind)" : "\(kind): \(KnownSecrets.masked(detail))"
    }
}

extension TransportError {
    /// Whether the server's certificate or key was refused, so nothing was sent.
    package var isTrustRefused: Bool {
        [.certificateUntrusted, .certificateNameMismatch, .pinnedKeyMismatch].contains(kind)
    }

    /// The outcome code, which is the same for all servers.
    package var code: OutcomeCode {
        switch kind {
        case .unknownHost: .unknownHost
        case .cannotConnect: .cannotConnect
        case .connectTimeout, .stalled, .responseTimeout: .networkTimeout
        case .connectionLost, .invalidResponse, .repeatRefused: .connectionLost
        case .certificateUntrusted: .certificateUntrusted
        case .certificateNameMismatch: .certificateNameMismatch
        case .pinnedKeyMismatch: .pinnedKeyMismatch
        case .tls: .tlsFailed
        case .responseTooLarge: .unexpectedResponse
        case .bodyUnreadable: .fileUnreadable
        case .loginRequired: .loginRequired
        case .loginExpired: .loginExpired
        case .rateLimited(let status, _): status == 503 ? .serverUnavailable : .rateLimited
        case .cancelled: .cancelled
        case .receiverFailed, .unusable: .internalError
        }
    }

    /// Whether a retry of a repeatable request can help.
    package var isWorthRepeating: Bool {
        switch kind {
        case .unknownHost, .cannotConnect, .connectTimeout, .stalled, .responseTimeout, .connectionLost: true
        default: false
        }
    }
}
