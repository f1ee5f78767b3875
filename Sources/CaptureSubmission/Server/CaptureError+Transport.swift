package import MediaTransport

extension CaptureError {
    /// Why there is no answer to a request that changes nothing but a counter. The next try is the caller's, under a new
    /// counter.
    init(reading error: TransportError) {
        self.init(unanswered: error, isRetryable: error.isWorthRepeating)
    }

    /// Why there is no answer to a request that may have changed something.
    ///
    /// Once the whole body is out, the server may have acted, however the exchange ended (`.unknownOutcome`); only the head
    /// of a refusal tells otherwise. Before that it cannot have: it reads a body to its end first (contract 1.1).
    ///
    /// - Parameter error: The transport's.
    package init(submitting error: TransportError) {
        if let head = error.head, (400..<500).contains(head.status), head.status != 409 {
            self = CaptureRefusal(head, body: []).error(of: .submission)
            underlying = error
        } else if error.isBeforeRequest || !error.metrics.bodyComplete {
            self.init(unanswered: error, isRetryable: true)
        } else {
            self.init(.unknownOutcome, detail: error.detail, httpStatus: error.head?.status, underlying: error)
        }
    }

    private init(unanswered error: TransportError, isRetryable: Bool) {
        switch error.kind {
        case .cancelled:
            self.init(.cancelled, detail: error.detail)
        case .responseTooLarge:
            self.init(.unexpectedAnswer, detail: "the answer is far too long", httpStatus: error.head?.status)
        default:
            self.init(
                .transport,
                detail: error.detail,
                httpStatus: error.head?.status,
                isRetryable: isRetryable
            )
        }
        underlying = error
    }
}
