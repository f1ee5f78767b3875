internal import MediaTransport
internal import Synchronization

/// Stops a batch, gracefully or immediately, from any thread; the request is passed to every running transfer.
public final class BatchControl: Sendable {
    private struct State {
        /// Whether no further transfer may start.
        var isClosed = false
        var onClose: (@Sendable () -> Void)?
        var running: [ObjectIdentifier: TransferControl] = [:]
    }

    private let state = Mutex(State())

    /// Creates a control without a request.
    public init() {}

    /// Starts no further transfers, stops those that are still sending, and waits for the responses to the others.
    ///
    /// - Parameter finishWithin: Maximum time for the responses; nil keeps the requests' own limits.
    public func stop(finishWithin: Duration? = nil) {
        for transfer in close() {
            transfer.stop(finishWithin: finishWithin)
        }
    }

    /// Stops everything immediately.
    public func abandon() {
        for transfer in close() {
            transfer.abandon()
        }
    }

    /// Starts no further transfers, and lets the running ones finish.
    public func drain() {
        _ = close()
    }

    /// nil if no further transfer may start.
    func begin() -> TransferControl? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            let transfer = TransferControl()
            state.running[ObjectIdentifier(transfer)] = transfer
            return transfer
        }
    }

    func end(_ transfer: TransferControl) {
        state.withLock { _ = $0.running.removeValue(forKey: ObjectIdentifier(transfer)) }
    }

    /// Sets the function to call when no further transfer may start.
    func whenClosed(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            state.onClose = action
            return state.isClosed
        }
        if isClosed {
            action()
        }
    }

    /// Returns the running transfers.
    private func close() -> [TransferControl] {
        let (onClose, running) = state.withLock { state in
            state.isClosed = true
            return (state.onClose, Array(state.running.values))
        }
        onClose?()
        return running
    }
}
