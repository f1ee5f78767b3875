import MediaTransport
import Testing

@Suite("Delays between attempts")
struct RetryTests {
    // 784111777 is `date -ud 'Sun, 06 Nov 1994 08:49:37 GMT' +%s`; the three forms come from RFC 9110 section 5.6.7.
    @Test(
        "Retry-After is seconds or a date",
        arguments: [
            ("0", Duration.zero), (" 120 ", .seconds(120)), ("007", .seconds(7)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(37)), ("Sunday, 06-Nov-94 08:49:37 GMT", .seconds(37)),
            ("Sun Nov  6 08:49:37 1994", .seconds(37)), ("Sun, 06 Nov 1994 08:48:00 GMT", .zero),
            ("99999999999999999999999", .seconds(31_536_000)),
        ]
    )
    func retryAfter(value: String, expected: Duration) {
        #expect(RetryAfter.parse(value, now: 784_111_740) == expected)
    }

    @Test("any other Retry-After value is ignored", arguments: ["", "-1", "1.5", "soon", "+3", "1e3", "12 s", "\u{0}"])
    func unreadable(value: String) {
        #expect(RetryAfter.parse(value, now: 784_111_740) == nil)
    }

    @Test("the delay is between zero and a bound that doubles up to the limit", arguments: 1...70)
    func fullJitter(attempt: Int) {
        let policy = RetryPolicy(retries: 3, base: .milliseconds(500), cap: .seconds(30))
        let bounds: [Duration] = [.milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16)]
        let bound = attempt <= bounds.count ? bounds[attempt - 1] : .seconds(30)
        let waits = (0..<200).map { _ in policy.delay(after: attempt, retryAfter: nil) }
        #expect(waits.allSatisfy { .zero <= $0 && $0 <= bound })
        // Full jitter: both halves of the range occur (each half is missed by 200 draws with probability 2^-200).
        #expect(waits.contains { $0 < bound / 2 } && waits.contains { $0 > bound / 2 })
    }

    @Test("the server's delay is honored up to its limit")
    func serverDelay() {
        let policy = RetryPolicy(retries: 3, base: .zero, retryAfterCap: .seconds(120))
        #expect(policy.delay(after: 1, retryAfter: .seconds(7)) == .seconds(7))
        #expect(policy.delay(after: 1, retryAfter: .seconds(9999)) == .seconds(120))
    }
}
