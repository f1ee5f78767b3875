extension Console {
    /// Runs `body`, calls `tick` four times a second meanwhile, and `status` when SIGUSR1 asks for it.
    func ticking<Value>(
        _ tick: @escaping @Sendable () -> Void,
        status: @escaping @Sendable () -> Void,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        context.interruption.onStatusRequest(status)
        let ticker = Task {
            while !Task.isCancelled {
                try await Task.sleep(for: .milliseconds(250))
                tick()
            }
        }
        defer {
            ticker.cancel()
            context.interruption.onStatusRequest(nil)
        }
        return try await body()
    }
}
