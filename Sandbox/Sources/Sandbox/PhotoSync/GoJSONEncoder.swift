import Foundation

/// Writes JSON the way Go's `json.Encoder` does: no escaped slashes, raw UTF-8, `<`, `>` and `&` escaped, a line feed at
/// the end.
enum GoJSONEncoder {
    static func encode(_ value: JSONValue) -> String {
        JSONWriter(quote: quote).text(of: value) + "\n"
    }

    private static func quote(_ string: String, to text: inout String) {
        // A page has thousands of texts, and hardly one that needs more.
        if isPlain(string) {
            text += "\"" + string + "\""
            return
        }
        JSONWriter.quote(string, to: &text) { scalar in
            switch scalar {
            case "<", ">", "&", "\u{2028}", "\u{2029}", "\u{0}"..."\u{1f}": JSONWriter.escaped(scalar.value)
            default: nil
            }
        }
    }

    /// ASCII without anything to escape.
    private static func isPlain(_ string: String) -> Bool {
        var string = string
        return string.withUTF8 { bytes in
            bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"):
                    false
                default: (0x20..<0x7F).contains(byte)
                }
            }
        }
    }
}

/// The members of a request's object, read with Go's leniency: unknown keys are ignored, the case of keys too, the last
/// of several wins, and `null` is as good as absent (photosync contract 0).
struct GoFields: Equatable {
    private var members: [String: ReceivedJSON] = [:]

    /// Reads a body; `null` is an object without members, and what follows the value is not looked at.
    init(body: [UInt8]) throws(UnreadableJSON) {
        switch try ReceivedJSON(beginningOf: body) {
        case .object(let members):
            for member in members { self.members[member.key.lowercased()] = member.value }
        case .null: break
        default: throw UnreadableJSON()
        }
    }

    /// Nil when absent or `null`.
    private subscript(key: String) -> ReceivedJSON? {
        members[key.lowercased()].flatMap { $0 == .null ? nil : $0 }
    }

    func string(_ key: String) throws(UnreadableJSON) -> String? {
        switch self[key] {
        case nil: return nil
        case .string(let text)?: return text
        default: throw UnreadableJSON()
        }
    }

    func int(_ key: String) throws(UnreadableJSON) -> Int? {
        switch self[key] {
        case nil: return nil
        case .number(let text)?:
            guard let number = Int(text) else { throw UnreadableJSON() }
            return number
        default: throw UnreadableJSON()
        }
    }

    func bool(_ key: String) throws(UnreadableJSON) -> Bool? {
        switch self[key] {
        case nil: return nil
        case .bool(let flag)?: return flag
        default: throw UnreadableJSON()
        }
    }

    func strings(_ key: String) throws(UnreadableJSON) -> [String] {
        switch self[key] {
        case nil: return []
        case .array(let elements)?:
            var texts: [String] = []
            for element in elements {
                switch element {
                case .string(let text): texts.append(text)
                case .null: texts.append("")
                default: throw UnreadableJSON()
                }
            }
            return texts
        default: throw UnreadableJSON()
        }
    }

    func time(_ key: String) throws(UnreadableJSON) -> GoTime? {
        guard let text = try string(key) else { return nil }
        guard let time = GoTime(text) else { throw UnreadableJSON() }
        return time
    }
}

/// A point of time as a Go program with PostgreSQL behind it handles it (photosync contract 0).
///
/// Zones are discarded on the way in: the wall clock is kept and called UTC.
struct GoTime: Sendable, Equatable {
    /// Since 1970-01-01T00:00:00Z; negative before it.
    private var seconds: Int
    /// From 0 to 999,999,999.
    private var nanoseconds: Int

    private init(seconds: Int, nanoseconds: Int) {
        self.seconds = seconds
        self.nanoseconds = nanoseconds
    }

    /// The clock's time, to the nanosecond.
    static func now() -> GoTime {
        var clock = timespec()
        clock_gettime(CLOCK_REALTIME, &clock)
        return GoTime(seconds: clock.tv_sec, nanoseconds: clock.tv_nsec)
    }

    /// What the database gives back.
    init(microseconds: Int) {
        seconds = Self.floorDivide(microseconds, 1_000_000)
        nanoseconds = (microseconds - seconds * 1_000_000) * 1000
    }

    /// What the database keeps: rounded, so 0.9999999 becomes the next second.
    var microseconds: Int { seconds * 1_000_000 + (nanoseconds + 500) / 1000 }

    // MARK: Text

    /// Reads RFC 3339 with a zone, as Go does: capital `T` and `Z`, a colon in the offset; digits after the ninth are
    /// dropped.
    init?(_ text: String) {
        let pattern =
            /([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?(?:Z|[+-]([0-9]{2}):([0-9]{2}))/
        guard let match = text.wholeMatch(of: pattern) else { return nil }
        let (_, year, month, day, hour, minute, second, fraction, zoneHour, zoneMinute) = match.output
        let date = [year, month, day].compactMap { Int($0) }
        let clock = [hour, minute, second].compactMap { Int($0) }
        guard (1...12).contains(date[1]), (1...Self.days(in: date[1], of: date[0])).contains(date[2]), clock[0] < 24,
            clock[1] < 60, clock[2] < 60, zoneHour.flatMap({ Int($0) }) ?? 0 < 24,
            zoneMinute.flatMap({ Int($0) }) ?? 0 < 60
        else { return nil }
        seconds =
            Self.dayNumber(year: date[0], month: date[1], day: date[2]) * 86_400
            + clock[0] * 3600 + clock[1] * 60 + clock[2]
        let digits = String(fraction ?? "").prefix(9)
        nanoseconds = Int(digits + String(repeating: "0", count: 9 - digits.count)) ?? 0
    }

    /// RFC 3339 with `Z`; as many digits of the fraction as there are, without zeros at the end.
    var text: String {
        guard nanoseconds > 0 else { return wholeSecondText }
        var digits = Substring(padded(nanoseconds, 9))
        while digits.last == "0" { digits.removeLast() }
        return "\(wholeSecondText.dropLast()).\(digits)Z"
    }

    /// RFC 3339 with the fraction cut off.
    var wholeSecondText: String {
        let day = Self.floorDivide(seconds, 86_400)
        let rest = seconds - day * 86_400
        let clock = [rest / 3600, rest / 60 % 60, rest % 60].map(twoDigits).joined(separator: ":")
        let date = Self.date(ofDay: day)
        return "\(padded(date.year, 4))-\(twoDigits(date.month))-\(twoDigits(date.day))T\(clock)Z"
    }

    /// `YYYY/MM`, the folder of a photo taken then.
    var folder: String { String(wholeSecondText.prefix(7).replacing("-", with: "/")) }

    func advanced(byMicroseconds count: Int) -> GoTime { GoTime(microseconds: microseconds + count) }

    // MARK: Calendar

    private static func floorDivide(_ number: Int, _ divisor: Int) -> Int {
        number >= 0 ? number / divisor : -((divisor - 1 - number) / divisor)
    }

    private static func isLeap(_ year: Int) -> Bool {
        year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    }

    /// How many days a month has.
    static func days(in month: Int, of year: Int) -> Int {
        [31, isLeap(year) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }

    /// Days since 1970-01-01 in the proleptic Gregorian calendar, with years that begin in March.
    private static func dayNumber(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = floorDivide(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func date(ofDay number: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = number + 719_468
        let era = floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let calendarMonth = month < 10 ? month + 3 : month - 9
        return (yearOfEra + era * 400 + (calendarMonth <= 2 ? 1 : 0), calendarMonth, day)
    }
}
