internal import Glibc

/// Threads for work that must not hold one of the few threads of Swift's pool.
enum DedicatedThread {
    /// Runs `body` on a new, detached thread, which ends with it.
    ///
    /// - Returns: 0, or the error number when the system gave no thread; `body` is not run then.
    static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        // The retain is taken over by the new thread, or given back here when there is none.
        let box = Unmanaged.passRetained(Body(run: body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            &attributes,
            { context in
                if let context { Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run() }
                return nil
            },
            box.toOpaque()
        )
        if result != 0 { box.release() }
        return result
    }

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(run: @escaping @Sendable () -> Void) { self.run = run }
    }
}
