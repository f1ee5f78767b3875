/// `Retry-After` (RFC 9110 section 10.2.3).
public enum RetryAfter {
    /// Reads a field value: seconds, or an HTTP date of which only the distance to `now` counts.
    ///
    /// - Parameters:
    ///   - value: The field value as received.
    ///   - now: Seconds since 1970.
    /// - Returns: nil when the value is neither; never negative.
    public static func parse(_ value: String, now: Int64) -> Duration? {
        nil
    }
}
