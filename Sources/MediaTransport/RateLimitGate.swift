internal import Synchronization

/// Delays all requests of a client to a server that has refused one (429, 503): parallel transfers must not each find out.
final class RateLimitGate: Sendable {
    private struct Period {
        var beganAt: ContinuousClock.Instant
        var endsAt: ContinuousClock.Instant
        /// Refusals one after the other, those of requests that were under way together counted once.
        var refusals: Int
    }

    private let policy: RetryPolicy
    private let periods = Mutex<[Origin: Period]>([:])

    init(policy: RetryPolicy) {
        self.policy = policy
    }

    /// How long a request to this origin has to wait yet; nil when it may go.
    func remaining(for origin: Origin) -> Duration? {
        periods.withLock { periods in
            guard let period = periods[origin] else { return nil }
            let rest = ContinuousClock.now.duration(to: period.endsAt)
            return rest > .zero ? rest : nil
        }
    }

    /// Takes an answer into account: 429 and 503 begin a period of quiet or make it longer; any other answer to a request
    /// begun since then shows that the server is back.
    func note(_ head: HTTPResponseHead, from origin: Origin, requestedAt: ContinuousClock.Instant) {
        periods.withLock { periods in
            let isNews = periods[origin].map { requestedAt >= $0.beganAt } ?? true
            guard head.status == 429 || head.status == 503 else {
                if isNews { periods[origin] = nil }
                return
            }
            let now = ContinuousClock.now
            var period = periods[origin] ?? Period(beganAt: now, endsAt: now, refusals: 0)
            if isNews {
                period.beganAt = now
                period.refusals += 1
            }
            let wait = policy.delay(after: max(1, period.refusals), retryAfter: head.retryAfter)
            period.endsAt = max(period.endsAt, now + wait)
            periods[origin] = period
        }
    }
}
