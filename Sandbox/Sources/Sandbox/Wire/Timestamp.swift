import Foundation

/// A time with nanosecond precision.
struct Timestamp: Sendable, Equatable, Comparable {
    /// Since 1970-01-01T00:00:00Z; negative before it.
    private(set) var seconds: Int
    /// From 0 to 999,999,999.
    private var nanoseconds = 0

    /// `offset` is in seconds.
    static func now(offset: Double = 0) -> Timestamp {
        var clock = timespec()
        clock_gettime(CLOCK_REALTIME, &clock)
        let total = clock.tv_sec * 1_000_000_000 + clock.tv_nsec + Int(offset * 1e9)
        return Timestamp(seconds: total.floored(by: 1_000_000_000), nanoseconds: total.remainder(of: 1_000_000_000))
    }

    private init(seconds: Int, nanoseconds: Int = 0) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    init(microseconds: Int) {
        self.init(
            seconds: microseconds.floored(by: 1_000_000),
            nanoseconds: microseconds.remainder(of: 1_000_000) * 1000
        )
    }

    /// Rounded, as in PostgreSQL.
    var microseconds: Int { seconds * 1_000_000 + (nanoseconds + 500) / 1000 }
    var milliseconds: Int { seconds * 1000 + nanoseconds / 1_000_000 }

    func advanced(bySeconds count: Int) -> Timestamp { Timestamp(seconds: seconds + count, nanoseconds: nanoseconds) }

    static func < (left: Timestamp, right: Timestamp) -> Bool {
        (left.seconds, left.nanoseconds) < (right.seconds, right.nanoseconds)
    }

    /// Parses a date-time with a zone (RFC 3339 section 5.6), up to nine digits of the fraction. If `isWallClock`, this
    /// follows Go with PostgreSQL (photosync contract 0): only capital letters are valid, and the zone is ignored.
    init?(_ text: String, isWallClock: Bool = false) {
        let pattern =
            /([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))/
        guard let match = text.wholeMatch(of: pattern), !isWallClock || !text.contains(where: { "tz ".contains($0) })
        else { return nil }
        let (_, year, month, day, hour, minute, second, fraction, sign, zoneHour, zoneMinute) = match.output
        let numbers = [year, month, day, hour, minute, second].compactMap { CInt($0) }
        var fields = tm()
        (fields.tm_year, fields.tm_mon, fields.tm_mday) = (numbers[0] - 1900, numbers[1] - 1, numbers[2])
        (fields.tm_hour, fields.tm_min, fields.tm_sec) = (numbers[3], numbers[4], numbers[5])
        let wanted = (fields.tm_mon, fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec)
        seconds = timegm(&fields)
        // `timegm` turns February 31 into a day in March.
        guard (fields.tm_mon, fields.tm_mday, fields.tm_hour, fields.tm_min, fields.tm_sec) == wanted else {
            return nil
        }
        let digits = String(fraction ?? "").prefix(9)
        nanoseconds = Int(digits + String(repeating: "0", count: 9 - digits.count)) ?? 0
        let zone = [zoneHour, zoneMinute].map { $0.flatMap { Int($0) } ?? 0 }
        guard zone[0] < 24, zone[1] < 60 else { return nil }
        if !isWallClock { seconds -= (zone[0] * 3600 + zone[1] * 60) * (sign == "-" ? -1 : 1) }
    }

    /// With `Z`, and a fraction without trailing zeros (Go).
    var text: String {
        var digits = padded(nanoseconds, 9)[...]
        while digits.last == "0" { digits.removeLast() }
        return text(fraction: digits) + "Z"
    }

    /// With `+00:00`, and a fraction of 0, 3, 6 or 9 digits (the capture server).
    var captureText: String {
        let count = nanoseconds == 0 ? 0 : nanoseconds % 1_000_000 == 0 ? 3 : nanoseconds % 1000 == 0 ? 6 : 9
        return text(fraction: padded(nanoseconds, 9).prefix(count)) + "+00:00"
    }

    /// With `Z` and all nine digits of the fraction.
    var fullText: String { text(fraction: padded(nanoseconds, 9)[...]) + "Z" }

    /// With `Z` and no fraction.
    var wholeSecondText: String { text(fraction: "") + "Z" }

    /// `YYYY/MM`, the folder of a photo taken then.
    var folder: String { String(text(fraction: "").prefix(7).replacing("-", with: "/")) }

    private func text(fraction: Substring) -> String {
        var time = time_t(seconds)
        var fields = tm()
        gmtime_r(&time, &fields)
        let date = "\(padded(fields.tm_year + 1900, 4))-\(padded(fields.tm_mon + 1, 2))-\(padded(fields.tm_mday, 2))"
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { padded($0, 2) }.joined(separator: ":")
        return "\(date)T\(clock)" + (fraction.isEmpty ? "" : "." + fraction)
    }
}

extension Timestamp: Codable {
    init(from decoder: any Decoder) throws {
        self.init(microseconds: try decoder.singleValueContainer().decode(Int.self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(microseconds)
    }
}

/// The dates of HTTP headers (RFC 9110 section 5.6.7).
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The preferred form.
    static func text(_ seconds: Int) -> String {
        let text = Timestamp(microseconds: seconds * 1_000_000).wholeSecondText.split { "-T".contains($0) }
        let day = days[(seconds.floored(by: 86_400) + 4).remainder(of: 7)]
        return "\(day), \(text[2]) \(months[(Int(text[1]) ?? 1) - 1]) \(text[0]) \(text[3].dropLast()) GMT"
    }

    /// Seconds since 1970 of the preferred form; nil for anything else.
    static func seconds(_ text: String) -> Int? {
        let pattern = /[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9:]{8}) GMT/
        guard let match = text.wholeMatch(of: pattern), let month = months.firstIndex(of: String(match.2)) else {
            return nil
        }
        return Timestamp("\(match.3)-\(padded(month + 1, 2))-\(match.1)T\(match.4)Z")?.seconds
    }
}

extension Int {
    /// Rounded down; the divisor is positive.
    fileprivate func floored(by divisor: Int) -> Int { (self - remainder(of: divisor)) / divisor }

    /// Not negative.
    fileprivate func remainder(of divisor: Int) -> Int { (self % divisor + divisor) % divisor }
}
