import Foundation

/// A point of time as the capture server handles it, to the nanosecond.
struct CaptureTime: Sendable, Equatable, Comparable {
    /// Since 1970-01-01T00:00:00Z.
    var nanoseconds: Int

    init(nanoseconds: Int) { self.nanoseconds = nanoseconds }

    /// The machine's clock, this many seconds off.
    static func now(offset: Double = 0) -> CaptureTime {
        var clock = timespec()
        clock_gettime(CLOCK_REALTIME, &clock)
        return CaptureTime(nanoseconds: clock.tv_sec * 1_000_000_000 + clock.tv_nsec + Int(offset * 1e9))
    }

    static func < (left: CaptureTime, right: CaptureTime) -> Bool { left.nanoseconds < right.nanoseconds }

    var milliseconds: Int { Self.floor(nanoseconds, 1_000_000) }
    var seconds: Int { Self.floor(nanoseconds, 1_000_000_000) }

    func advanced(bySeconds count: Int) -> CaptureTime {
        CaptureTime(nanoseconds: nanoseconds + count * 1_000_000_000)
    }

    /// Reads a date-time with offset (RFC 3339 section 5.6), of the years in which nanoseconds can be counted.
    init?(_ text: String) {
        let pattern =
            /([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        let (_, year, month, day, hour, minute, second, fraction, sign, zoneHour, zoneMinute) = match.output
        var fields = tm()
        fields.tm_year = CInt((Int(year) ?? 0) - 1900)
        fields.tm_mon = (CInt(month) ?? 0) - 1
        fields.tm_mday = CInt(day) ?? 0
        fields.tm_hour = CInt(hour) ?? 0
        fields.tm_min = CInt(minute) ?? 0
        fields.tm_sec = CInt(second) ?? 0
        let wanted = (fields.tm_mon, fields.tm_mday, fields.tm_hour, fields.tm_min)
        guard fields.tm_sec < 60 else { return nil }
        let seconds = timegm(&fields)
        // A 31st of February comes back as a day of March.
        guard (fields.tm_mon, fields.tm_mday, fields.tm_hour, fields.tm_min) == wanted else { return nil }
        let digits = String(fraction ?? "").prefix(9)
        let part = Int(digits + String(repeating: "0", count: 9 - digits.count)) ?? 0
        let (zoneHours, zoneMinutes) = (zoneHour.flatMap { Int($0) } ?? 0, zoneMinute.flatMap { Int($0) } ?? 0)
        guard zoneHours < 24, zoneMinutes < 60, (1700..<2260).contains(Int(year) ?? 0) else { return nil }
        let zone = (zoneHours * 3600 + zoneMinutes * 60) * (sign == "-" ? -1 : 1)
        nanoseconds = (seconds - zone) * 1_000_000_000 + part
    }

    /// With `Z` and all nine digits of the fraction, as in `meta`.
    var metaText: String { wholeSecondText + fractionText(digits: 9) + "Z" }

    /// With `+00:00`, and a fraction of 3, 6 or 9 digits where there is one, as everywhere else.
    var text: String {
        let part = nanoseconds - seconds * 1_000_000_000
        let digits = part == 0 ? 0 : part % 1_000_000 == 0 ? 3 : part % 1000 == 0 ? 6 : 9
        return wholeSecondText + fractionText(digits: digits) + "+00:00"
    }

    private var wholeSecondText: String {
        var time = time_t(seconds)
        var fields = tm()
        gmtime_r(&time, &fields)
        let date = [fields.tm_mon + 1, fields.tm_mday].map { twoDigits(Int($0)) }.joined(separator: "-")
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { twoDigits(Int($0)) }.joined(separator: ":")
        return "\(fields.tm_year + 1900)-\(date)T\(clock)"
    }

    private func fractionText(digits: Int) -> String {
        guard digits > 0 else { return "" }
        return "." + padded(nanoseconds - seconds * 1_000_000_000, 9).prefix(digits)
    }

    private static func floor(_ value: Int, _ unit: Int) -> Int {
        value >= 0 ? value / unit : -((-value + unit - 1) / unit)
    }
}
