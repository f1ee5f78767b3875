internal import Foundation
internal import MediaCore

/// Results as text. File names and text from servers are escaped here.
///
/// The text of a command is in its own file; this type contains text shared by several commands.
enum TextRenderer {
    /// The first characters of an ID or hash, enough to distinguish it.
    static func brief(_ id: String) -> String { TerminalText.escaped(String(id.prefix(8))) }

    static func time(_ date: Date, now: Date) -> String {
        "\(Formats.timestamp(date)) (\(Formats.age(of: date, now: now)))"
    }

    /// One name and value per line; `width` is the width of the names.
    static func fields(_ fields: [(name: String, value: String)], width: Int = 14, _ style: Style) -> [String] {
        fields.map { name, value in
            style.bold(name.padding(toLength: width, withPad: " ", startingAt: 0)) + TerminalText.escaped(value)
        }
    }
}

enum Formats {
    /// `999 B`, `26.2 kB`, `6.4 GB`: decimal units, at most three significant digits.
    static func bytes(_ count: Int64) -> String {
        guard count >= 1000 else { return "\(count) B" }
        var value = Double(count)
        var unit = ""
        for next in ["kB", "MB", "GB", "TB", "PB", "EB"] where value >= 999.5 || unit.isEmpty {
            value /= 1000
            unit = next
        }
        let digits = value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        return decimal(value, digits: digits) + " " + unit
    }

    /// `2.3 km`.
    static func kilometers(_ value: Double) -> String { decimal(value, digits: 1) + " km" }

    /// Rounded half up, independent of the locale.
    private static func decimal(_ value: Double, digits: Int) -> String {
        let scale = digits == 0 ? 1 : digits == 1 ? 10 : 100
        let scaled = Int((value * Double(scale)).rounded())
        guard digits > 0 else { return String(scaled) }
        return "\(scaled / scale).\((scaled % scale).padded(digits))"
    }

    /// `0:07`, `12:34`, `1:02:03`.
    static func clock(_ duration: Duration) -> String {
        let seconds = max(0, duration.components.seconds)
        let tail = (seconds % 60).padded(2)
        guard seconds >= 3600 else { return "\(seconds / 60):\(tail)" }
        return "\(seconds / 3600):\((seconds / 60 % 60).padded(2)):\(tail)"
    }

    /// A duration in a sentence: `2 s`, `5 min 30 s`, `3 h 20 min`, `about 365 days`. Rounded up; never zero.
    static func span(_ duration: Duration) -> String {
        let seconds = max(1, duration.components.seconds + (duration.components.attoseconds > 0 ? 1 : 0))
        let minutes = (seconds + 59) / 60
        if seconds < 3600 {
            return pair(seconds / 60, "min", seconds % 60, "s")
        }
        return minutes < 48 * 60
            ? pair(minutes / 60, "h", minutes % 60, "min") : "about \((minutes + 1439) / 1440) days"
    }

    /// For messages: like `span`, but `0.2 s` for less than a second.
    static func pause(_ duration: Duration) -> String {
        let tenths = (milliseconds(duration) + 99) / 100
        return tenths < 10 ? "0.\(max(1, tenths)) s" : span(duration)
    }

    private static func pair(_ large: Int64, _ largeUnit: String, _ small: Int64, _ smallUnit: String) -> String {
        let parts = [(large, largeUnit), (small, smallUnit)].filter { $0.0 > 0 }
        return parts.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }

    /// `just now`, `5 minutes ago`, `3 days ago`, `2 years ago`. A time in the future, possible if the clock was set
    /// back, is `just now` up to a day, otherwise `in the future`.
    static func age(of date: Date, now: Date) -> String {
        let seconds = Int64(now.timeIntervalSince(date))
        switch seconds {
        case ..<(-86_400): return "in the future"
        case ..<60: return "just now"
        case ..<3600: return count(seconds / 60, "minute") + " ago"
        case ..<86_400: return count(seconds / 3600, "hour") + " ago"
        case ..<(14 * 86_400): return count(seconds / 86_400, "day") + " ago"
        case ..<(61 * 86_400): return count(seconds / (7 * 86_400), "week") + " ago"
        case ..<(730 * 86_400): return count(seconds / (30 * 86_400 + 43_200), "month") + " ago"
        default: return count(seconds / (365 * 86_400 + 21_600), "year") + " ago"
        }
    }

    /// `1 file`, `2 files`.
    static func count(_ number: some BinaryInteger, _ noun: String) -> String {
        number == 1 ? "1 \(noun)" : "\(number) \(noun)s"
    }

    /// RFC 3339 in UTC with seconds.
    static func timestamp(_ date: Date) -> String {
        RFC3339.text(seconds: Int64(date.timeIntervalSince1970.rounded(.down)))
    }

    /// `YYYY-MM-DD` in the local time zone.
    static func localDay(_ date: Date) -> String {
        CivilTime(localSecondsSince1970: Int64(date.timeIntervalSince1970.rounded(.down))).dayText
    }

    static func milliseconds(_ duration: Duration) -> Int64 {
        let parts = duration.components
        return parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000
    }
}
