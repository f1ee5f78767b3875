package import MediaStore

/// Times as PhotoSync servers write and read them (RFC 3339; photosync contract section 0 and traps 2 to 5).
///
/// Foundation's parsers are not used: they disagree about fractions (trap 2), keep a time as a binary fraction, and take
/// longer than reading the rest of a listing.
package enum RFC3339 {
    /// Reads a time with zone and 0 to 9 fraction digits.
    ///
    /// - Parameter text: Written as Go's `time.RFC3339` asks for: capital `T` and `Z`, no leap second, `±hh:mm`.
    /// - Returns: nil for anything else: no zone, `+0000` without colon, a blank instead of `T`, a day that does not exist.
    package static func time(_ text: some StringProtocol) -> PhotoTime? {
        var text = String(text)
        guard let microseconds = text.withUTF8({ Self.microseconds($0) }) else { return nil }
        return PhotoTime(text: text, microseconds: microseconds)
    }

    /// Writes a time in UTC with `Z`; the fraction (6 digits at most, trailing zeros removed) only when there is one.
    ///
    /// - Parameter microseconds: Since 1970; years 0000 to 9999.
    /// - Returns: nil outside those years.
    package static func text(microseconds: Int64) -> String? {
        let (seconds, fraction) = microseconds.flooredDivision(by: 1_000_000)
        let (days, second) = seconds.flooredDivision(by: 86_400)
        let date = CivilDate(daysSince1970: days)
        guard (0...9999).contains(date.year) else { return nil }
        var text = "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
        text += "\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
        if fraction > 0 {
            var digits = padded(fraction, 6)
            while digits.hasSuffix("0") { digits.removeLast() }
            text += "." + digits
        }
        return text + "Z"
    }

    /// A time as it is sent to a server: in UTC with `Z`, since the server ignores offsets (trap 4).
    ///
    /// - Throws: `PhotoSyncError.invalidDate` outside the years 0000 to 9999.
    static func canonical(_ time: PhotoTime) throws(PhotoSyncError) -> String {
        guard let text = text(microseconds: time.microseconds) else {
            throw PhotoSyncError(.invalidDate, detail: "outside the years 0000 to 9999", value: time.text)
        }
        return text
    }

    private static func padded(_ number: Int64, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }

    // MARK: Reading

    /// `2024-03-01T00:30:00`: what every time begins with.
    private static let wholeSecondCount = 19

    private static func microseconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard text.count > wholeSecondCount, let seconds = wallClock(text) else { return nil }
        var position = wholeSecondCount
        var fraction: Int64 = 0
        if text[position] == UInt8(ascii: ".") {
            position += 1
            let start = position
            var weight: Int64 = 100_000
            while position < text.count, let digit = digit(text[position]) {
                fraction += digit * weight
                weight /= 10
                position += 1
            }
            guard (1...9).contains(position - start) else { return nil }
        }
        guard let offset = offset(text, from: position) else { return nil }
        return (seconds - offset) * 1_000_000 + fraction
    }

    /// Seconds since 1970 of the part before the fraction, taken as UTC.
    private static func wallClock(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"), text[10] == UInt8(ascii: "T"),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let century = pair(text, 0), let yearOfCentury = pair(text, 2), let month = pair(text, 5),
            let day = pair(text, 8), let hour = pair(text, 11), let minute = pair(text, 14),
            let second = pair(text, 17), hour < 24, minute < 60, second < 60,
            let date = CivilDate(year: century * 100 + yearOfCentury, month: month, day: day)
        else { return nil }
        return date.daysSince1970 * 86_400 + hour * 3600 + minute * 60 + second
    }

    /// Seconds east of UTC: `Z` or `±hh:mm`, and nothing behind it.
    private static func offset(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int64? {
        switch text.count - start {
        case 1: return text[start] == UInt8(ascii: "Z") ? 0 : nil
        case 6:
            guard text[start + 3] == UInt8(ascii: ":"), let hours = pair(text, start + 1),
                let minutes = pair(text, start + 4), hours < 24, minutes < 60
            else { return nil }
            switch text[start] {
            case UInt8(ascii: "+"): return hours * 3600 + minutes * 60
            case UInt8(ascii: "-"): return -(hours * 3600 + minutes * 60)
            default: return nil
            }
        default: return nil
        }
    }

    private static func pair(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> Int64? {
        guard let tens = digit(text[position]), let ones = digit(text[position + 1]) else { return nil }
        return tens * 10 + ones
    }

    private static func digit(_ byte: UInt8) -> Int64? {
        (0x30...0x39).contains(byte) ? Int64(byte &- 0x30) : nil
    }
}

/// A day of the Gregorian calendar, continued backwards before 1582 as RFC 3339 has it.
private struct CivilDate {
    var year: Int64
    var month: Int64
    var day: Int64

    /// - Returns: nil for a day that does not exist.
    init?(year: Int64, month: Int64, day: Int64) {
        guard (1...12).contains(month), day >= 1, day <= Self.dayCount(of: month, in: year) else { return nil }
        self.year = year
        self.month = month
        self.day = day
    }

    /// Counts in years that begin in March, so that the leap day is the last of its year; 400 of them have 146,097 days,
    /// and 719,468 days lie between 0000-03-01 and 1970-01-01.
    init(daysSince1970: Int64) {
        let (era, dayOfEra) = (daysSince1970 + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    var daysSince1970: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).flooredDivision(by: 400)
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func dayCount(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int64 {
    /// Quotient and a remainder that is never negative.
    fileprivate func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
