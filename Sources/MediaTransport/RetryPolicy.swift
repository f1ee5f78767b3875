/// When and how often a repeatable request is tried again.
public struct RetryPolicy: Sendable, Equatable {
    /// Tries after the first; 0 means one try.
    public var retries: Int
    /// The first back-off bound; it doubles with each try.
    public var base: Duration
    /// The largest back-off bound.
    public var cap: Duration
    /// The longest `Retry-After` (RFC 9110 section 10.2.3) that is waited out; a longer one is cut to this.
    public var retryAfterCap: Duration

    /// Makes a policy; the defaults are those of the command line.
    public init(
        retries: Int = 3,
        base: Duration = .milliseconds(500),
        cap: Duration = .seconds(30),
        retryAfterCap: Duration = .seconds(120)
    ) {
        self.retries = retries
        self.base = base
        self.cap = cap
        self.retryAfterCap = retryAfterCap
    }

    /// The wait before a try, with full jitter: uniform in [0, min(cap, base · 2^(attempt−1))], or what the server
    /// asked for when that is longer, up to `retryAfterCap`.
    ///
    /// - Parameters:
    ///   - attempt: The number of the try that has just failed, from 1.
    ///   - retryAfter: The server's wish.
    /// - Returns: The wait, never negative.
    public func delay(after attempt: Int, retryAfter: Duration?) -> Duration {
        let exponent = min(max(attempt - 1, 0), 30)
        let bound = min(cap, base * (1 << exponent))
        let jittered = bound * Double.random(in: 0...1)
        guard let retryAfter else { return jittered }
        return max(jittered, min(retryAfter, retryAfterCap))
    }
}
