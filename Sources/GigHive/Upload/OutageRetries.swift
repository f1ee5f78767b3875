internal import MediaTransport

/// How often, and how long, a server that is unavailable (503) is waited for: as the retry policy says, and in total not longer
/// than its limit of one `Retry-After`.
struct OutageRetries: Sendable {
    private let policy: RetryPolicy
    private var count = 0
    private var requested = Duration.zero

    init(_ policy: RetryPolicy) {
        self.policy = policy
    }

    /// Counts a failure.
    ///
    /// - Returns: The pause before the next attempt; nil if there is none.
    mutating func next(after error: GigHiveError) -> Duration? {
        count += 1
        guard count <= policy.retries, mayWait(for: error) else { return nil }
        return policy.delay(after: count, retryAfter: error.retryAfterSeconds.map { .seconds($0) })
    }

    /// Counts the time that the server asks for.
    ///
    /// - Returns: Whether it is waited for; true for every other failure.
    mutating func mayWait(for error: GigHiveError) -> Bool {
        guard error.code == .serverUnavailable, let seconds = error.retryAfterSeconds else { return true }
        requested += .seconds(seconds)
        return requested <= policy.retryAfterCap
    }
}
