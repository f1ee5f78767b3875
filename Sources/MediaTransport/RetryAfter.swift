internal import Glibc

/// `Retry-After` (RFC 9110 section 10.2.3).
package enum RetryAfter {
    /// Reads a field value: seconds, or an HTTP date of which only the distance to `now` counts.
    ///
    /// - Parameters:
    ///   - value: The field value as received.
    ///   - now: Seconds since 1970.
    /// - Returns: nil when the value is neither; never negative.
    package static func parse(_ value: String, now: Int64) -> Duration? {
        let text = value.trimmingBlanks()
        if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // More digits than an Int64 holds still mean "very long".
            return .seconds(min(Int64(text) ?? .max, longest))
        }
        guard let date = HTTPDate.parse(text) else { return nil }
        return .seconds(min(max(0, date - now), longest))
    }

    /// What an answer asks for.
    package static func wish(in head: HTTPResponseHead) -> Duration? {
        head.value(of: "Retry-After").flatMap { parse($0, now: Int64(time(nil))) }
    }

    /// One year: keeps later arithmetic far from overflow.
    private static let longest: Int64 = 31_536_000
}
