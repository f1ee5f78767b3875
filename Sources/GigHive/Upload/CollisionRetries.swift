internal import MediaTransport

/// How often, and how long, an upload that the server lost in a race is sent again (trap T19): at most ten times and for two
/// minutes, with growing random pauses so that several processes do not collide again.
struct CollisionRetries: Sendable {
    private static let limit = 10
    private static let timeLimit = Duration.seconds(120)

    private let policy: RetryPolicy
    private var count = 0
    private var first: ContinuousClock.Instant?

    /// With the bound of the first pause; it doubles with each attempt, up to 15 seconds.
    init(base: Duration = .milliseconds(200)) {
        policy = RetryPolicy(retries: Self.limit, base: base, cap: .seconds(15))
    }

    /// Counts a lost race.
    ///
    /// - Returns: The pause before the next attempt; nil if there is no further attempt.
    mutating func next() -> Duration? {
        let now = ContinuousClock.now
        let since = first ?? now
        first = since
        count += 1
        guard count <= Self.limit, now - since < Self.timeLimit else { return nil }
        return policy.delay(after: count, retryAfter: nil)
    }
}
