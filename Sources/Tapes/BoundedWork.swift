internal import Dispatch
internal import MediaFiles
internal import MediaSystem
internal import Synchronization

/// Runs work on a file system that may hang, on a dedicated thread that no other work depends on.
enum BoundedWork {
    /// Maximum time for the work to detect its cancellation.
    static let grace: Duration = .seconds(1)

    /// Runs `body` on a thread that may block. Cancellation stops it at its next step with `.cancelled`; a hanging step
    /// is abandoned. `body` calls `WorkSteps.next()` before each step. If a step takes longer than `stallLimit`, the
    /// file system is treated as unreachable (rule R14).
    ///
    /// - Throws: Errors thrown by `body`; `.unreachable`, `.cancelled`.
    static func run<Value: Sendable>(
        stallLimit: Duration,
        _ body: @escaping @Sendable (WorkSteps) throws(AlbumError) -> Value
    ) async throws(AlbumError) -> Value {
        let run = BoundedRun<Value>(stallLimit: stallLimit)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in run.start(body, continuation) }
        } onCancel: {
            run.cancel()
        }
        return try result.get()
    }
}

final class WorkSteps: Sendable {
    private struct State {
        var lastStep = ContinuousClock.now
        var isCancelled = false
    }

    private let state = Mutex(State())

    /// Starts the next step.
    ///
    /// - Throws: `.cancelled` after cancellation.
    func next() throws(AlbumError) {
        let isCancelled = state.withLock { state in
            state.lastStep = .now
            return state.isCancelled
        }
        if isCancelled { throw AlbumError(.cancelled) }
    }

    func cancel() { state.withLock { $0.isCancelled = true } }

    var timeInStep: Duration { state.withLock { $0.lastStep }.duration(to: .now) }
}

private final class BoundedRun<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, AlbumError>

    private let steps = WorkSteps()
    private let stallLimit: Duration
    private let continuation = Mutex<CheckedContinuation<Outcome, Never>?>(nil)

    init(stallLimit: Duration) {
        self.stallLimit = stallLimit
    }

    func start(
        _ body: @escaping @Sendable (WorkSteps) throws(AlbumError) -> Value,
        _ continuation: CheckedContinuation<Outcome, Never>
    ) {
        self.continuation.withLock { $0 = continuation }
        watch(after: stallLimit)
        let code = DedicatedThread.start { [self] in
            do throws(AlbumError) {
                try steps.next()
                end(.success(try body(steps)))
            } catch {
                end(.failure(error))
            }
        }
        if code != 0 { end(.failure(AlbumError(.unreachable(retryAfter: nil), detail: "no thread available"))) }
    }

    func cancel() {
        steps.cancel()
        later(BoundedWork.grace) { $0.end(.failure(AlbumError(.cancelled))) }
    }

    private func watch(after time: Duration) {
        later(time) { run in
            let rest = run.stallLimit - run.steps.timeInStep
            guard rest <= .zero else { return run.watch(after: rest) }
            // The abandoned thread stops at its next step, if it ever returns.
            run.steps.cancel()
            run.end(.failure(AlbumError(.unreachable(retryAfter: nil), detail: "the file system is not responding")))
        }
    }

    /// Calls `body` after a delay, without keeping a finished run in memory.
    private func later(_ time: Duration, _ body: @escaping @Sendable (BoundedRun) -> Void) {
        let nanoseconds = Int(time / .nanoseconds(1))
        DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [weak self] in
            if let self { body(self) }
        }
    }

    /// Only the first call counts.
    private func end(_ outcome: Outcome) {
        let waiting = continuation.withLock { continuation in
            defer { continuation = nil }
            return continuation
        }
        waiting?.resume(returning: outcome)
    }
}
