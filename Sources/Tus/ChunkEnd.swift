internal import Synchronization

/// Where the thread that sends a chunk and the task that keeps its proof meet: the sender stops before the last byte, the
/// keeper lets it go on.
final class ChunkEnd: Sendable {
    private enum Stage {
        case sending
        case held
        case released
        case failed(any Error)
        /// The transfer is over and never came this far.
        case missed
    }

    private struct State {
        var stage = Stage.sending
        var wake: (@Sendable () -> Void)?
        var keeper: CheckedContinuation<Bool, Never>?
    }

    private let state = Mutex(State())

    // MARK: The sender's side

    /// All bytes but the last are on their way, and all are hashed.
    func reach() {
        leaveSending(for: .held)?.resume(returning: true)
    }

    var isHeld: Bool {
        state.withLock { state in
            if case .held = state.stage { true } else { false }
        }
    }

    func onRelease(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wake = wake }
    }

    /// - Throws: What kept the proof from being kept.
    func throwFailure() throws {
        if let failure { throw failure }
    }

    // MARK: The keeper's side

    /// Waits for the sender.
    ///
    /// - Returns: false when the transfer ended before it came to its last byte.
    func reached() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer = state.withLock { state -> Bool? in
                switch state.stage {
                case .sending:
                    state.keeper = continuation
                    return nil
                case .missed: return false
                case .held, .released, .failed: return true
                }
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// The last byte may go.
    func release() {
        letGo(.released)
    }

    /// The last byte must not go.
    func fail(_ error: any Error) {
        letGo(.failed(error))
    }

    // MARK: The owner's side

    /// The transfer has ended.
    func transferEnded() {
        leaveSending(for: .missed)?.resume(returning: false)
    }

    /// Whether the proof of the whole chunk is kept.
    var isReleased: Bool {
        state.withLock { state in
            if case .released = state.stage { true } else { false }
        }
    }

    /// What kept the proof from being kept.
    var failure: (any Error)? {
        state.withLock { state in
            if case .failed(let error) = state.stage { error } else { nil }
        }
    }

    private func leaveSending(for next: Stage) -> CheckedContinuation<Bool, Never>? {
        state.withLock { state in
            guard case .sending = state.stage else { return nil }
            state.stage = next
            defer { state.keeper = nil }
            return state.keeper
        }
    }

    private func letGo(_ stage: Stage) {
        let wake = state.withLock { state in
            state.stage = stage
            return state.wake
        }
        wake?()
    }
}
