internal import Foundation

/// A time as contract section 4 writes it: whole seconds of UTC, years of four digits.
struct UTCSecond {
    private let parts: tm

    /// The second that a time lies in, its fraction cut off; nil outside the years 1 to 9999.
    init?(_ time: Date) {
        let seconds = time.timeIntervalSince1970.rounded(.down)
        // 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z; NaN is in no range.
        guard (-62_135_596_800...253_402_300_799).contains(seconds) else { return nil }
        var whole = time_t(seconds)
        var parts = tm()
        guard gmtime_r(&whole, &parts) != nil else { return nil }
        self.parts = parts
    }

    /// `YYYY-MM-DD`
    var day: String {
        Self.digits(parts.tm_year + 1_900, 4) + "-" + Self.digits(parts.tm_mon + 1, 2) + "-"
            + Self.digits(parts.tm_mday, 2)
    }

    /// `YYYY-MM-DDTHH:MM:SSZ`
    var second: String {
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Self.digits($0, 2) }
        return day + "T" + time.joined(separator: ":") + "Z"
    }

    /// `YYYY-MM-DDT00:00:00Z`
    var startOfDay: String { day + "T00:00:00Z" }

    private static func digits(_ value: Int32, _ count: Int) -> String {
        let text = String(value)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
}
