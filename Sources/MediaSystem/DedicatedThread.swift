internal import Glibc

/// Threads for blocking work, which must not hold one of the few threads of Swift's pool.
package enum DedicatedThread {
    /// Runs `body` on a new thread. Returns zero, or the `errno` if the system provides no thread; `body` is not run then.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        // The new thread takes over the retain; without one it is released here.
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
