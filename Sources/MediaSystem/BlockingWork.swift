internal import Glibc
internal import Synchronization

/// Work that waits for a disk, a name server, or hardware with a key, outside Swift's small thread pool.
package enum BlockingWork {
    /// Runs `work` on its own thread. Canceling has no effect.
    package static func run<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await result(of: work).get()
    }

    /// Like `run`, but `work` receives a function that returns whether the task was canceled.
    package static func runCancellable<Value: Sendable, Failure: Error>(
        _ work: @escaping @Sendable (_ isCancelled: @escaping @Sendable () -> Bool) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let flag = Flag()
        let body = { @Sendable () throws(Failure) -> Value in try work { flag.isSet.load(ordering: .relaxed) } }
        let result = await withTaskCancellationHandler {
            await Self.result(of: body)
        } onCancel: {
            flag.isSet.store(true, ordering: .relaxed)
        }
        return try result.get()
    }

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    private static func result<Value: Sendable, Failure: Error>(
        of work: @escaping @Sendable () throws(Failure) -> Value
    ) async -> Result<Value, Failure> {
        await withCheckedContinuation { continuation in
            let body = { @Sendable in continuation.resume(returning: Result(catching: work)) }
            // If the system does not provide a thread, `body` runs here, which is slower but correct.
            if DedicatedThread.start(body) != 0 { body() }
        }
    }
}

/// Threads for blocking work, which must not occupy Swift's small thread pool.
package enum DedicatedThread {
    /// Runs `body` on a new thread. Returns zero, or the `errno` if the system does not provide a thread; in that case,
    /// `body` does not run.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        // The new thread takes over the retain; if there is no new thread, the retain is released here.
        let box = Unmanaged.passRetained(Body(run: body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            nil,
            { context in
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            },
            box.toOpaque()
        )
        if result == 0 { pthread_detach(thread) } else { box.release() }
        return result
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
