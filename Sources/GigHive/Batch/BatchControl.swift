internal import MediaTransport
internal import Synchronization

/// Stops a batch, gracefully or immediately, from any thread; the request is passed to every running transfer.
///
/// Batches with the same control run as one: they share one `EventGate` and test the server once, and a failure that
/// ends one of them ends them all.
public final class BatchControl: Sendable {
    private struct State {
        /// Number of items in all batches.
        var itemCount = 0
        /// Whether no further transfer may start.
        var isClosed = false
        var onClose: (@Sendable () -> Void)?
        var running: [ObjectIdentifier: TransferControl] = [:]
    }

    private let state = Mutex(State())
    let gate = EventGate()
    let contact = ServerContact()
    let failure = RunFailure()

    /// Creates a control with no stop requested.
    public init() {}

    /// Does not start further transfers, stops transfers that are still sending, and waits for the responses to the
    /// others.
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

    /// Does not start further transfers, and lets the running ones finish.
    public func drain() {
        _ = close()
    }

    /// Numbers the items of a batch; `contact` and `failure` identify an item by its number.
    ///
    /// - Returns: The number of the first item.
    func add(_ count: Int) -> Int {
        state.withLock { state in
            defer { state.itemCount += count }
            return state.itemCount
        }
    }

    /// Returns nil if no further transfer may start.
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
        contact.close()
        onClose?()
        gate.close()
        return running
    }
}
