internal import MediaTransport
internal import Synchronization

/// Stops a batch, gently or at once, from any thread; what it asks for is passed to every running transfer.
public final class BatchControl: Sendable {
    private struct State {
        /// Whether nothing more is to be begun.
        var isClosed = false
        var onClose: (@Sendable () -> Void)?
        var running: [ObjectIdentifier: TransferControl] = [:]
    }

    private let state = Mutex(State())

    /// A control that has asked for nothing yet.
    public init() {}

    /// Begin nothing more; stop what is still being sent; wait for the answers of what is sent.
    ///
    /// - Parameter finishWithin: How long answers may still take; nil keeps the requests' own limits.
    public func stop(finishWithin: Duration? = nil) {
        for transfer in close() {
            transfer.stop(finishWithin: finishWithin)
        }
    }

    /// Stop everything at once.
    public func abandon() {
        for transfer in close() {
            transfer.abandon()
        }
    }

    /// Begin nothing more, and let everything that is running come to its end.
    public func drain() {
        _ = close()
    }

    /// A control for one more transfer; nil when nothing more is to be begun.
    func begin() -> TransferControl? {
        state.withLock { state in
            guard !state.isClosed else { return nil }
            let transfer = TransferControl()
            state.running[ObjectIdentifier(transfer)] = transfer
            return transfer
        }
    }

    /// A transfer has ended.
    func end(_ transfer: TransferControl) {
        state.withLock { _ = $0.running.removeValue(forKey: ObjectIdentifier(transfer)) }
    }

    /// Sets what is called when nothing more is to be begun.
    func whenClosed(_ action: @escaping @Sendable () -> Void) {
        let isClosed = state.withLock { state in
            state.onClose = action
            return state.isClosed
        }
        if isClosed {
            action()
        }
    }

    /// - Returns: What is running.
    private func close() -> [TransferControl] {
        let (onClose, running) = state.withLock { state in
            state.isClosed = true
            return (state.onClose, Array(state.running.values))
        }
        onClose?()
        return running
    }
}
