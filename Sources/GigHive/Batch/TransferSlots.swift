internal import Synchronization

/// The right to send, held by so many uploads of a batch at a time.
final class TransferSlots: Sendable {
    private struct State {
        var free: Int
        var isClosed = false
        var waiting: [CheckedContinuation<Bool, Never>] = []
    }

    private let state: Mutex<State>

    init(_ count: Int) {
        state = Mutex(State(free: count))
    }

    /// Waits for a slot, in order of asking.
    ///
    /// - Returns: false when nothing more is to be begun.
    func take() async -> Bool {
        await withCheckedContinuation { continuation in
            let answer: Bool? = state.withLock { state in
                guard !state.isClosed else { return false }
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return nil
                }
                state.free -= 1
                return true
            }
            if let answer { continuation.resume(returning: answer) }
        }
    }

    /// How many ask in vain.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Gives a slot back.
    func giveBack() {
        let next: CheckedContinuation<Bool, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }

    /// Sends away who waits, and who comes.
    func close() {
        let waiting = state.withLock { state in
            state.isClosed = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: false) }
    }
}
