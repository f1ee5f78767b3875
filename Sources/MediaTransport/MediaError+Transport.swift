public import Outcomes

extension MediaError: CustomStringConvertible {
    /// Code and detail, for logs.
    public var description: String {
        self.detail.isEmpty ? self.code.rawValue : "\(self.code.rawValue): \(KnownSecrets.masked(self.detail))"
    }

    /// The underlying error, if it is from the transport.
    public var transport: TransportError? { self.underlying as? TransportError }

    /// Creates the error for a missing response, which has the same codes for all servers.
    package init(noResponse error: TransportError, isRetryable: Bool) {
        switch error.kind {
        case .cancelled:
            self.init(.cancelled, detail: error.detail, underlying: error)
        case .responseTooLarge:
            let detail = "the response is too long"
            self.init(.unexpectedResponse, detail: detail, httpStatus: error.head?.status, underlying: error)
        default:
            self.init(
                .transport,
                detail: error.detail,
                httpStatus: error.head?.status,
                isRetryable: isRetryable,
                underlying: error
            )
        }
    }
}
