internal import Synchronization

/// Stops one transfer, gently or at once, from any thread.
///
/// A multipart upload whose last byte is out is a finalize in flight: stopping it would lose the delete token. A gentle
/// stop therefore takes effect only while body bytes remain; after that the transfer goes on to its answer.
public final class TransferControl: Sendable {
    /// What has been asked for.
    enum Wish: Sendable, Equatable {
        case none
        /// Stop unless the whole body is out; then allow at most `finishWithin` for the answer.
        case stop(finishWithin: Duration?)
        /// Stop whatever the stage.
        case abandon
    }

    private struct State {
        var wish = Wish.none
        var wake: (@Sendable () -> Void)?
        var waiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter: UInt64 = 0
        var linked: [TransferControl] = []
        var observers: [StopObserver] = []
    }

    private let state = Mutex(State())

    /// A control that has asked for nothing yet.
    public init() {}

    /// Another control, which is asked for whatever this one is asked for, and may be stopped alone. It lives as long as
    /// this one.
    public func linked() -> TransferControl {
        let control = TransferControl()
        let wish = state.withLock { state in
            state.linked.append(control)
            return state.wish
        }
        if wish != .none {
            control.set(wish)
        }
        return control
    }

    /// Stops the transfer if a body byte remains to be sent; otherwise lets it wait for its answer.
    ///
    /// - Parameter finishWithin: How long the answer may still take; nil keeps the request's own limit.
    public func stop(finishWithin: Duration? = nil) {
        set(.stop(finishWithin: finishWithin))
    }

    /// Stops the transfer at once. After the last body byte its outcome is then unknown.
    public func abandon() {
        set(.abandon)
    }

    /// Whether `stop` or `abandon` has been called.
    public var isStopRequested: Bool {
        wish != .none
    }

    /// Whether `abandon` has been called.
    public var isAbandoned: Bool {
        wish == .abandon
    }

    /// Waits out a pause that a stop ends early.
    ///
    /// - Parameter limit: The length of the pause.
    /// - Returns: true when a stop was asked for (or the task was cancelled), false when the pause ran out.
    public func waitForStop(upTo limit: Duration) async -> Bool {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await Task.sleep(for: limit) }
            group.addTask { await self.stopRequested() }
            await group.next()
            group.cancelAll()
        }
        return isStopRequested || Task.isCancelled
    }

    /// Waits for a stop, without an end of its own.
    ///
    /// - Returns: Whether a stop was asked for; false when the task was cancelled before.
    public func waitForStop() async -> Bool {
        await stopRequested()
        return isStopRequested
    }

    /// Returns when a stop is asked for or the task is cancelled.
    private func stopRequested() async {
        let id = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLock { state in
                    if state.wish != .none || Task.isCancelled { return true }
                    state.waiters[id] = continuation
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiters.removeValue(forKey: id) }?.resume()
        }
    }

    /// Calls `action` once, in a task of its own, when a stop is asked for; at once if it has been. Costs less than a task
    /// that waits.
    ///
    /// - Returns: What `endObserving` takes; after that `action` is not called any more.
    public func observeStop(_ action: @escaping @Sendable () -> Void) -> StopObserver {
        let observer = StopObserver(action)
        let isDue = state.withLock { state in
            if state.wish != .none { return true }
            state.observers.append(observer)
            return false
        }
        if isDue { observer.fire() }
        return observer
    }

    /// Lets an observer go.
    public func endObserving(_ observer: StopObserver) {
        observer.cancel()
        state.withLock { state in state.observers.removeAll { $0 === observer } }
    }

    private func set(_ wish: Wish) {
        let (wake, waiters, linked, observers) = state.withLock { state in
            if state.wish != .abandon {
                state.wish = wish
            }
            defer {
                state.waiters = [:]
                state.observers = []
            }
            return (state.wake, Array(state.waiters.values), state.linked, state.observers)
        }
        for observer in observers { observer.fire() }
        wake?()
        for control in linked { control.set(wish) }
        for waiter in waiters { waiter.resume() }
    }

    /// The latest wish; read by the loop thread.
    var wish: Wish {
        state.withLock { $0.wish }
    }

    /// Sets what rouses the loop when a wish arrives; nil when the transfer has ended.
    func attach(_ wake: (@Sendable () -> Void)?) {
        state.withLock { $0.wake = wake }
    }
}

/// Somebody who wants to know when a stop is asked for.
public final class StopObserver: Sendable {
    private let action: @Sendable () -> Void
    private let isCancelled = Atomic(false)

    fileprivate init(_ action: @escaping @Sendable () -> Void) {
        self.action = action
    }

    /// Not on the caller's thread, which may be in the midst of an event.
    fileprivate func fire() {
        Task {
            if !isCancelled.load(ordering: .acquiring) { action() }
        }
    }

    fileprivate func cancel() {
        isCancelled.store(true, ordering: .releasing)
    }
}
