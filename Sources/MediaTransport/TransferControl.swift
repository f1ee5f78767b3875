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
    }

    private let state = Mutex(State())

    /// A control that has asked for nothing yet.
    public init() {}

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

    private func set(_ wish: Wish) {
        let wake = state.withLock { state in
            if state.wish != .abandon {
                state.wish = wish
            }
            return state.wake
        }
        wake?()
    }

    /// The latest wish; read by the loop thread.
    var wish: Wish {
        state.withLock { $0.wish }
    }

    /// Sets what rouses the loop when a wish arrives; nil when the transfer has ended.
    func attach(_ wake: (@Sendable () -> Void)?) {
        let pending = state.withLock { state in
            state.wake = wake
            return state.wish != .none
        }
        if pending {
            wake?()
        }
    }
}
