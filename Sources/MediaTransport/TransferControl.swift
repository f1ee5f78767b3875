internal import Synchronization

/// Stops one transfer, gracefully or immediately, from any thread.
///
/// A multipart upload is finalized with its last byte: stopping it after that would lose the delete token. A graceful
/// stop of an at-most-once request therefore takes effect only while body bytes remain; after that, the transfer waits
/// for its response.
public final class TransferControl: Sendable {
    enum StopRequest: Sendable, Equatable {
        case none
        /// Stop unless the whole body has been sent; then allow at most `finishWithin` for the response.
        case stop(finishWithin: Duration?)
        /// Stop at any stage.
        case abandon
    }

    private struct State {
        var stopRequest = StopRequest.none
        var wake: (@Sendable () -> Void)?
        var linked: [ObjectIdentifier: Link] = [:]
        var observers: [StopObserver] = []
    }

    private struct Link: Sendable {
        weak var control: TransferControl?
        var onlyAbandon: Bool
    }

    private let state = Mutex(State())
    /// The control that this one is linked to.
    private let source: TransferControl?

    /// Creates a control with no stop requested.
    public init() {
        source = nil
    }

    private init(linkedTo source: TransferControl) {
        self.source = source
    }

    deinit {
        source?.state.withLock { $0.linked[ObjectIdentifier(self)] = nil }
    }

    /// Creates a control that receives every stop of this one and can be stopped separately. It retains this one. With
    /// `onlyAbandon`, it does not receive graceful stops: the outcome of its request is already determined.
    public func linked(onlyAbandon: Bool = false) -> TransferControl {
        let control = TransferControl(linkedTo: self)
        let stopRequest = state.withLock { state in
            state.linked[ObjectIdentifier(control)] = Link(control: control, onlyAbandon: onlyAbandon)
            return state.stopRequest
        }
        if stopRequest == .abandon || stopRequest != .none && !onlyAbandon {
            control.set(stopRequest)
        }
        return control
    }

    /// Stops the transfer, unless the whole body of an at-most-once request was sent: such a transfer waits for its
    /// response.
    ///
    /// - Parameter finishWithin: Maximum time for the response; nil keeps the request's own limit.
    public func stop(finishWithin: Duration? = nil) {
        set(.stop(finishWithin: finishWithin))
    }

    /// Stops the transfer immediately. If the last body byte was already sent, the outcome is unknown.
    public func abandon() {
        set(.abandon)
    }

    /// Whether `stop` or `abandon` has been called.
    public var isStopRequested: Bool {
        stopRequest != .none
    }

    public var isAbandoned: Bool {
        stopRequest == .abandon
    }

    /// Waits up to `limit`; a stop interrupts the wait early.
    ///
    /// - Returns: Whether a stop was requested or the task was canceled.
    public func waitForStop(upTo limit: Duration) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: limit) }
            group.addTask { await self.waitForStop() }
            await group.next()
            group.cancelAll()
        }
        return isStopRequested || Task.isCancelled
    }

    /// Waits for a stop, without a time limit.
    ///
    /// - Returns: False if the task was canceled first.
    @discardableResult
    public func waitForStop() async -> Bool {
        let (stops, continuation) = AsyncStream<Void>.makeStream()
        let observer = observeStop { continuation.finish() }
        defer { endObserving(observer) }
        for await _ in stops {}
        return isStopRequested
    }

    /// Calls `action` once, in its own task, when a stop is requested, or immediately if it already was. Costs less
    /// than a waiting task.
    ///
    /// - Returns: The argument of `endObserving`, after which `action` is no longer called.
    public func observeStop(_ action: @escaping @Sendable () -> Void) -> StopObserver {
        let observer = StopObserver(action)
        let isDue = state.withLock { state in
            if state.stopRequest != .none { return true }
            state.observers.append(observer)
            return false
        }
        if isDue { observer.fire() }
        return observer
    }

    /// Removes an observer.
    public func endObserving(_ observer: StopObserver) {
        observer.cancel()
        state.withLock { state in state.observers.removeAll { $0 === observer } }
    }

    private func set(_ stopRequest: StopRequest) {
        let (wake, linked, observers) = state.withLock { state in
            if state.stopRequest != .abandon { state.stopRequest = stopRequest }
            return (state.wake, state.linked, exchange(&state.observers, with: []))
        }
        for observer in observers { observer.fire() }
        wake?()
        for link in linked.values where stopRequest == .abandon || !link.onlyAbandon { link.control?.set(stopRequest) }
    }

    var stopRequest: StopRequest {
        state.withLock { $0.stopRequest }
    }

    /// Sets the function that wakes the loop when a stop is requested; nil after the transfer.
    func attach(_ wake: (@Sendable () -> Void)?) {
        state.withLock { $0.wake = wake }
    }
}

/// An observer of stop requests.
public final class StopObserver: Sendable {
    private let action: @Sendable () -> Void
    private let isCancelled = Atomic(false)

    fileprivate init(_ action: @escaping @Sendable () -> Void) {
        self.action = action
    }

    /// Calls the action in a task, because the caller's thread may be handling an event.
    fileprivate func fire() {
        Task {
            if !isCancelled.load(ordering: .acquiring) { action() }
        }
    }

    fileprivate func cancel() {
        isCancelled.store(true, ordering: .releasing)
    }
}
