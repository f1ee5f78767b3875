import MediaTransport
import Synchronization
import Testing

/// The schedules, calculated by hand from the contracts.
@Suite struct BackoffTests {
    /// A schedule, and its delays in milliseconds with the largest random number until it allows no further retry.
    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let policy: RetryPolicy
        let delays: [Int]
    }

    private static let rows = [
        Row(testDescription: "command line", policy: RetryPolicy(), delays: [500, 1000, 2000]),
        Row(testDescription: "no retries", policy: RetryPolicy(retries: 0), delays: []),
        // gighive contract 4.4.
        Row(testDescription: "finalize", policy: .finalize, delays: [200, 500, 1000, 2000, 5000, 10_000]),
        // gighive-d4 contract section 10, item 4.
        Row(testDescription: "pending", policy: .pendingFinalize, delays: [500, 1000, 2000, 5000, 10_000]),
        // 1 + 2 + 4 + 8 + 16 + 8 · 30 = 271, and 29 more are 300 seconds.
        Row(
            testDescription: "tus 423",
            policy: .tusLock,
            delays: [1000, 2000, 4000, 8000, 16_000] + Array(repeating: 30_000, count: 8) + [29_000]
        ),
        Row(
            testDescription: "lost race (T19)",
            policy: .serverRace,
            delays: [200, 400, 800, 1600, 3200, 6400, 12_800, 15_000, 15_000, 15_000]
        ),
        Row(testDescription: "query in an outage", policy: .briefOutage, delays: [1000]),
        // photosync contract 3.4 and section 10.
        Row(testDescription: "slow photo", policy: .slowPhoto, delays: [500]),
    ]

    private static func milliseconds(_ duration: Duration) -> Int { Int((duration / .milliseconds(1)).rounded()) }

    @Test(arguments: rows) func schedule(_ row: Row) {
        var backoff = Backoff(row.policy)
        backoff.random = { 1 }
        var delays: [Int] = []
        while delays.count < 100, let delay = backoff.next() { delays.append(Self.milliseconds(delay)) }
        #expect(delays == row.delays)
        #expect(backoff.failures == row.delays.count + 1)
        backoff.reset()
        #expect(backoff.next().map(Self.milliseconds) == row.delays.first)
    }

    @Test(arguments: rows) func jitter(_ row: Row) {
        var backoff = Backoff(row.policy)
        backoff.random = { 0.25 }
        let first = backoff.next().map(Self.milliseconds)
        #expect(first == row.delays.first.map { row.policy.hasJitter ? $0 / 4 : $0 })
    }

    /// Queries for an outcome continue with the last interval.
    @Test(arguments: [(1, 1), (2, 2), (3, 5), (4, 10), (5, 20), (6, 30), (7, 30), (100, 30)])
    func aListRepeatsItsLastDelay(attempt: Int, seconds: Int) {
        #expect(RetryPolicy.outcomeQuery.delay(after: attempt) == .seconds(seconds))
    }

    @Test func aTimeLimitCountsFromTheFirstFailure() {
        let time = Mutex(ContinuousClock.now)
        var backoff = Backoff(.serverRace)
        (backoff.now, backoff.random) = ({ time.withLock { $0 } }, { 0 })
        #expect(backoff.next() == .zero)
        time.withLock { $0 += .milliseconds(119_999) }
        #expect(backoff.next() == .zero)
        time.withLock { $0 += .milliseconds(1) }
        #expect(backoff.next() == nil)
    }

    /// Each value is limited; in an outage the total must not exceed the limit.
    @Test func retryAfter() {
        var single = Backoff(RetryPolicy())
        single.random = { 1 }
        #expect(single.next(retryAfter: .seconds(7)) == .seconds(7))
        #expect(single.next(retryAfter: .zero) == .seconds(1))
        #expect(single.next(retryAfter: .seconds(9999)) == .seconds(120))
        var outage = Backoff(RetryPolicy().outage)
        #expect(outage.next(retryAfter: .seconds(9999), isOutage: false) == .seconds(120))
        #expect(outage.next(retryAfter: .seconds(120)) == .seconds(120))
        #expect(outage.next(retryAfter: .seconds(1)) == nil)
    }

    // MARK: Running

    enum Failure: Error, Equatable {
        case passing(Int)
        case lasting
        case canceled
    }

    /// Runs an operation that fails with these failures in order, then succeeds.
    /// - Returns: The result, the delays in milliseconds, and the numbers of the attempts that were retried.
    private func run(
        _ failures: [Failure],
        stopsIn stop: Int? = nil
    ) async -> (result: Result<Int, Failure>, pauses: [Int], retried: [Int]) {
        var (attempts, pauses, retried) = (0, [Int](), [Int]())
        var backoff = Backoff(RetryPolicy())
        backoff.random = { 1 }
        do throws(Failure) {
            let value = try await backoff.run(
                pausing: { pause in
                    pauses.append(Self.milliseconds(pause))
                    return pauses.count == stop
                },
                canceled: Failure.canceled,
                retryAfter: { if case .passing(let seconds) = $0 { .seconds(seconds) } else { nil } },
                onRetry: { (attempt, _, _) async throws(Failure) in retried.append(attempt) }
            ) { () async throws(Failure) in
                attempts += 1
                guard attempts > failures.count else { throw failures[attempts - 1] }
                return attempts
            }
            return (.success(value), pauses, retried)
        } catch {
            return (.failure(error), pauses, retried)
        }
    }

    @Test func anOperationIsRunUntilItSucceeds() async {
        let run = await run([.passing(0), .passing(60)])
        #expect(run.result == .success(3))
        #expect(run.pauses == [500, 60_000])
        #expect(run.retried == [1, 2])
    }

    @Test func permanentFailuresAreNotRetried() async {
        let run = await run([.passing(0), .lasting, .passing(0)])
        #expect(run.result == .failure(.lasting))
        #expect(run.pauses == [500])
    }

    @Test func theLastErrorIsThrown() async {
        let run = await run([.passing(1), .passing(2), .passing(3), .passing(4)])
        #expect(run.result == .failure(.passing(4)))
        #expect(run.retried == [1, 2, 3])
    }

    @Test func aStopEndsTheWait() async {
        let run = await run([.passing(0), .passing(0)], stopsIn: 2)
        #expect(run.result == .failure(.canceled))
        #expect(run.pauses == [500, 1000])
    }
}
