internal import Synchronization

/// Delays all of a client's requests to a server that has refused one of them (429, 503): otherwise, every parallel
/// transfer would be refused.
final class RateLimitGate: Sendable {
    private struct Period {
        var beganAt: ContinuousClock.Instant
        var endsAt: ContinuousClock.Instant
        /// Number of consecutive refusals; refusals of simultaneous requests count once.
        var refusals: Int
        /// The status of the newest refusal.
        var status: Int
        var requested: Duration?
    }

    /// The time before the next request.
    struct Cooldown {
        /// The remaining wait.
        var rest: Duration
        /// The refusal: 429 or 503.
        var status: Int
        /// `Retry-After`, which may be longer than the wait.
        var requested: Duration?
    }

    private let policy: RetryPolicy
    private let periods = Mutex<[Origin: Period]>([:])

    init(policy: RetryPolicy) {
        self.policy = policy
    }

    /// The time that a request to this origin must wait; nil if it may be sent.
    func cooldown(of origin: Origin) -> Cooldown? {
        periods.withLock { periods in
            guard let period = periods[origin] else { return nil }
            let rest = ContinuousClock.now.duration(to: period.endsAt)
            return rest > .zero ? Cooldown(rest: rest, status: period.status, requested: period.requested) : nil
        }
    }

    /// Records a response: 429 and 503 start or extend a wait; any other response to a request that was begun after the
    /// refusal ends the wait.
    func note(_ head: HTTPResponseHead, from origin: Origin, requestedAt: ContinuousClock.Instant) {
        periods.withLock { periods in
            let isNewest = periods[origin].map { requestedAt >= $0.beganAt } ?? true
            guard head.status == 429 || head.status == 503 else {
                if isNewest { periods[origin] = nil }
                return
            }
            let now = ContinuousClock.now
            var period = periods[origin] ?? Period(beganAt: now, endsAt: now, refusals: 0, status: head.status)
            (period.status, period.requested) = (head.status, head.retryAfter)
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
