import Foundation

/// The dates of HTTP headers (RFC 9110 section 5.6.7).
enum HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The preferred form.
    static func text(_ seconds: time_t) -> String {
        var seconds = seconds
        var fields = tm()
        gmtime_r(&seconds, &fields)
        let clock = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { twoDigits(Int($0)) }
        return "\(days[Int(fields.tm_wday)]), \(twoDigits(Int(fields.tm_mday))) \(months[Int(fields.tm_mon)]) "
            + "\(fields.tm_year + 1900) \(clock.joined(separator: ":")) GMT"
    }

    /// Seconds since 1970 of the preferred form; nil for anything else.
    static func seconds(_ text: String) -> Int? {
        let pattern = /[A-Z][a-z]{2}, ([0-9]{2}) ([A-Z][a-z]{2}) ([0-9]{4}) ([0-9:]{8}) GMT/
        guard let match = text.wholeMatch(of: pattern), let month = months.firstIndex(of: String(match.2)),
            let time = GoTime("\(match.3)-\(twoDigits(month + 1))-\(match.1)T\(match.4)Z")
        else { return nil }
        return time.microseconds / 1_000_000
    }
}
