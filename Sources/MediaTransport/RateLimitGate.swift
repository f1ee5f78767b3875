internal import Synchronization

/// Delays all requests of a client to a server that has refused one (429, 503): parallel transfers must
/// not each be refused.
final class RateLimitGate: Sendable {
    private struct Period {
        var beganAt: ContinuousClock.Instant
        var endsAt: ContinuousClock.Instant
        /// Consecutive refusals; those of simultaneous requests count once.
        var refusals: Int
    }

    private let policy: RetryPolicy
    private let periods = Mutex<[Origin: Period]>([:])

    init(policy: RetryPolicy) {
        self.policy = policy
    }

    /// The remaining time that a request to this origin must wait; nil if it may be sent.
    func remaining(for origin: Origin) -> Duration? {
        periods.withLock { periods in
            guard let period = periods[origin] else { return nil }
            let rest = ContinuousClock.now.duration(to: period.endsAt)
            return rest > .zero ? rest : nil
        }
    }

    /// Records a response: 429 and 503 start or extend a wait; any other response to a request begun
    /// since then ends it.
    func note(_ head: HTTPResponseHead, from origin: Origin, requestedAt: ContinuousClock.Instant) {
        periods.withLock { periods in
            let isNewest = periods[origin].map { requestedAt >= $0.beganAt } ?? true
            guard head.status == 429 || head.status == 503 else {
                if isNewest { periods[origin] = nil }
                return
            }
            let now = ContinuousClock.now
            var period = periods[origin] ?? Period(beganAt: now, endsAt: now, refusals: 0)
            if isNewest {
                period.beganAt = now
                period.refusals += 1
            }
            let wait = policy.delay(after: max(1, period.refusals), retryAfter: head.retryAfter)
            period.endsAt = max(period.endsAt, now + wait)
            periods[origin] = period
        }
    }
}
