import Synchronization

/// Holds the answers of `delay-answer` back, until their time has come or the faults are cleared.
final class AnswerHold: Sendable {
    private struct State {
        var isReleased = false
        var sleeps: [Int: Task<Void, Never>] = [:]
        var lastKey = 0
    }

    private let state = Mutex(State())

    /// Waits; not at all once it was released. Throws `CancellationError`.
    func wait(seconds: Double) async throws {
        guard let (key, sleep) = begin(seconds) else { return }
        defer { state.withLock { _ = $0.sleeps.removeValue(forKey: key) } }
        await withTaskCancellationHandler {
            await sleep.value
        } onCancel: {
            sleep.cancel()
        }
        try Task.checkCancellation()
    }

    /// Lets all go that wait, and those that come later.
    func release() {
        let sleeps = state.withLock { state in
            state.isReleased = true
            return state.sleeps.values
        }
        for sleep in sleeps { sleep.cancel() }
    }

    private func begin(_ seconds: Double) -> (key: Int, sleep: Task<Void, Never>)? {
        state.withLock { state in
            guard !state.isReleased else { return nil }
            let sleep = Task { _ = try? await Task.sleep(for: .seconds(seconds)) }
            state.lastKey += 1
            state.sleeps[state.lastKey] = sleep
            return (state.lastKey, sleep)
        }
    }
}
