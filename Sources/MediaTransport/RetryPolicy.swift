internal import Glibc

/// The schedule of retries. No other file computes a delay or parses `Retry-After`.
public struct RetryPolicy: Sendable, Equatable {
    /// Number of retries after the first attempt; 0 means one attempt.
    public var retries: Int
    /// The largest delay.
    public var cap: Duration
    /// The longest `Retry-After` (RFC 9110 section 10.2.3) that is honored; a longer one is reduced to this value.
    public var retryAfterCap: Duration
    /// The time since the first failure after which there is no retry.
    public var timeLimit: Duration?
    /// Delays before the first retries; the last one doubles with each further retry.
    package var delays: [Duration]
    /// Whether a delay is random, from zero to its value (full jitter), so clients do not retry simultaneously.
    package var hasJitter = true
    /// Limit for the sum of all delays; the last one is shortened to what remains.
    package var totalDelay: Duration?
    /// Limit for the sum of all values of `Retry-After`; there is no retry beyond it.
    package var totalRetryAfter: Duration?

    /// Creates a policy with full jitter; the defaults are those used by the command line. `base` is the bound of the
    /// first delay.
    public init(
        retries: Int = 3,
        base: Duration = .milliseconds(500),
        cap: Duration = .seconds(30),
        retryAfterCap: Duration = .seconds(120),
        timeLimit: Duration? = nil
    ) {
        self.retries = retries
        self.cap = cap
        self.retryAfterCap = retryAfterCap
        self.timeLimit = timeLimit
        delays = [base]
    }

    package init(
        delays: [Duration],
        cap: Duration? = nil,
        retryAfterCap: Duration = .zero,
        totalDelay: Duration? = nil
    ) {
        self.delays = delays
        retries = cap == nil ? delays.count : .max
        self.cap = cap ?? delays.max() ?? .zero
        self.retryAfterCap = retryAfterCap
        self.totalDelay = totalDelay
        hasJitter = false
    }

    /// The delay before a retry after `count` failures: the scheduled delay, or the server's `retryAfter` if that is
    /// longer, up to `retryAfterCap`. `random` is from 0 to 1.
    public func delay(after count: Int, retryAfter: Duration? = nil, random: Double = .random(in: 0...1)) -> Duration {
        let doublings = min(max(count - delays.count, 0), 30)
        let bound = min(cap, (delays.prefix(max(count, 1)).last ?? .zero) * (1 << doublings))
        return max(hasJitter ? bound * random : bound, min(retryAfter ?? .zero, retryAfterCap))
    }
}

/// The schedules of the contracts.
extension RetryPolicy {
    /// An upload that another request has locked (423): tusd holds the lock until it detects that the connection was
    /// lost.
    public static let tusLock = RetryPolicy(delays: [.seconds(1)], cap: .seconds(30), totalDelay: .seconds(300))
    /// A finalize request sent before tusd's hook has notified the application of the last byte (gighive contract 4.4).
    package static let finalize = RetryPolicy(delays: [0.2, 0.5, 1, 2, 5, 10].map { .seconds($0) })
    /// A finalize request for a complete upload that the server still reports as pending (gighive-d4 contract section
    /// 10).
    package static let pendingFinalize = RetryPolicy(delays: [0.5, 1, 2, 5, 10].map { .seconds($0) })
    /// An upload that the server lost in a race (gighive trap T19); the delays are random, so processes do not collide
    /// again.
    package static let serverRace = RetryPolicy(
        retries: 10,
        base: .milliseconds(200),
        cap: .seconds(15),
        timeLimit: .seconds(120)
    )
    /// Queries for the outcome of a request; the caller limits the total time.
    package static let outcomeQuery = RetryPolicy(delays: [1, 2, 5, 10, 20, 30].map { .seconds($0) })
    /// An optional query during an outage (503): the upload itself waits for the server, and reports that.
    package static let briefOutage = RetryPolicy(delays: [.seconds(1)])
    /// A server that restarts, or whose database is down (photosync contract, new facts 5; gighive trap T24).
    public static let restart = RetryPolicy(
        retries: 1000,
        base: .milliseconds(500),
        cap: .seconds(10),
        timeLimit: .seconds(120)
    )
    /// A photo whose body was too slow for the server (photosync contract 3.4); the next attempt is seldom faster.
    package static let slowPhoto = RetryPolicy(retries: 1)
    /// A clip that could not be added to its album (tapes contract R9): attempts are spread over hours, in later runs.
    package static let album = RetryPolicy(
        delays: [.seconds(60)],
        cap: .seconds(24 * 60 * 60),
        retryAfterCap: RetryAfter.longest
    )

    /// This policy for a server that is unavailable (503): `retryAfterCap` also limits the sum of its values of
    /// `Retry-After`.
    package var outage: RetryPolicy {
        var policy = self
        policy.totalRetryAfter = retryAfterCap
        return policy
    }
}

/// The failed attempts of one operation, and the delays between them.
package struct Backoff: Sendable {
    package var now: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Numbers from 0 to 1.
    package var random: @Sendable () -> Double = { .random(in: 0...1) }
    private let policy: RetryPolicy
    package private(set) var failures = 0
    private var firstFailure: ContinuousClock.Instant?
    private var delayed = Duration.zero
    private var requested = Duration.zero

    package init(_ policy: RetryPolicy) {
        self.policy = policy
    }

    /// Counts a failed attempt, and returns the delay before the next one; nil if there is none. `attempt` is the
    /// number of the attempt if failures of other kinds count as well. Requested delays count toward the total only if
    /// `isOutage`.
    package mutating func next(retryAfter: Duration? = nil, attempt: Int? = nil, isOutage: Bool = true) -> Duration? {
        failures = attempt ?? failures + 1
        let time = now()
        let first = firstFailure ?? time
        firstFailure = first
        guard failures <= policy.retries, policy.timeLimit.map({ time - first < $0 }) ?? true else { return nil }
        if isOutage, let limit = policy.totalRetryAfter {
            requested += retryAfter ?? .zero
            guard requested <= limit else { return nil }
        }
        var delay = policy.delay(after: failures, retryAfter: retryAfter, random: random())
        if let limit = policy.totalDelay {
            guard delayed < limit else { return nil }
            delay = min(delay, limit - delayed)
            delayed += delay
        }
        return delay
    }

    /// Resets the failures, because there was progress.
    package mutating func reset() {
        (failures, firstFailure, delayed, requested) = (0, nil, .zero, .zero)
    }

    /// Runs an operation until it succeeds, or a retry cannot help or is not allowed.
    ///
    /// `pause` returns whether a stop interrupted the wait; `canceled` is then thrown. `retryAfter` is the delay that
    /// the server requests, zero if it requests none, nil if a retry cannot help. `onRetry` is called before each
    /// delay.
    package mutating func run<Value, Failure: Error>(
        pausing pause: (Duration) async -> Bool,
        canceled: @autoclosure () -> Failure,
        retryAfter: (Failure) -> Duration?,
        onRetry: (_ attempt: Int, _ delay: Duration, _ error: Failure) async throws(Failure) -> Void = { _, _, _ in },
        _ operation: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        while true {
            do throws(Failure) {
                return try await operation()
            } catch {
                guard let serverDelay = retryAfter(error), let delay = next(retryAfter: serverDelay) else {
                    throw error
                }
                try await onRetry(failures, delay, error)
                if await pause(delay) { throw canceled() }
            }
        }
    }
}

/// `Retry-After` (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// Reads a field value: seconds, or an HTTP date, which is converted to the time from `now` (seconds since 1970)
    /// until then.
    ///
    /// - Returns: nil if the value is neither; otherwise from zero to one year.
    package static func parse(_ value: String, now: Int64) -> Duration? {
        let text = value.trimmingBlanks()
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // More digits than an Int64 holds still mean "very long".
            return min(.seconds(Int64(text) ?? .max), longest)
        }
        return HTTPDate.parse(text).map { min(.seconds(max(0, $0 - now)), longest) }
    }

    /// Prevents overflow in later arithmetic.
    fileprivate static let longest = Duration.seconds(31_536_000)
}

extension HTTPResponseHead {
    package var retryAfter: Duration? {
        value(of: "Retry-After").flatMap { RetryAfter.parse($0, now: Int64(time(nil))) }
    }
}
