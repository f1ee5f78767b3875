internal import MediaStore
internal import MediaTransport

extension PhotoSyncError {
    /// Why there is no answer.
    init(_ error: TransportError) {
        switch error.kind {
        case .cancelled:
            self.init(.cancelled, detail: error.detail)
        case .receiverFailed:
            self = error.underlying as? PhotoSyncError ?? PhotoSyncError(.internalError, detail: error.description)
        case .bodyUnreadable:
            self.init(unreadable: error)
        case .responseTooLarge:
            self.init(.unexpectedAnswer, detail: "the answer is far too long", httpStatus: error.head?.status)
        default:
            self.init(
                .transport,
                detail: error.detail,
                httpStatus: error.head?.status,
                isRetryable: error.isWorthRepeating
            )
        }
        transport = error
    }

    /// Why the file that was being sent could not be read to its end.
    private init(unreadable error: TransportError) {
        switch error.underlying as? FileContentError {
        case .shrank(let expected, let actual):
            self.init(.sourceChanged, detail: "became shorter while it was being sent: \(actual) of \(expected) bytes")
        case .unreadable(let errno):
            self.init(.fileUnreadable, detail: "reading failed with errno \(errno)")
        case nil:
            self.init(.fileUnreadable, detail: error.detail)
        }
    }

    /// Why the local store cannot be used.
    init(_ error: StoreError) {
        self.init(.storeUnusable, detail: error.description, store: error)
    }
}
