internal import Glibc

/// A day and a time of the Gregorian calendar, extended backward before 1582 (RFC 3339 section 1), in
/// no particular zone.
package struct CivilTime: Sendable, Equatable {
    package let year: Int64
    /// 1 to 12.
    package let month: Int64
    /// From 1.
    package let day: Int64
    package let hour: Int64
    package let minute: Int64
    /// 60 in a leap second.
    package let second: Int64

    /// nil if a part is nil, or if the day or time does not exist.
    package init?(year: Int64?, month: Int64?, day: Int64?, hour: Int64? = 0, minute: Int64? = 0, second: Int64? = 0) {
        guard let year, let month, let day, let hour, let minute, let second,
            (1...12).contains(month), (1...Self.dayCount(of: month, in: year)).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// Reads the year (four digits), month, day, hour, minute and second (two digits each) at these offsets; a part
    /// without an offset is 0. nil if there are no digits, or if the day or time does not exist.
    package init?(_ text: [UInt8], at offsets: [Int]) {
        let parts = zip(offsets, [4, 2, 2, 2, 2, 2]).map { text.decimal(at: $0, count: $1) } + [0, 0, 0]
        self.init(year: parts[0], month: parts[1], day: parts[2], hour: parts[3], minute: parts[4], second: parts[5])
    }

    /// Reads `YYYY-MM-DD` as the first second of that day; nil for any other form or a day that does not exist.
    package init?(day text: some StringProtocol) {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-") else { return nil }
        self.init(bytes, at: [0, 5, 8])
    }

    package var dayText: String { "\(year.padded(4))-\(month.padded(2))-\(day.padded(2))" }

    package var text: String { "\(dayText)T\(hour.padded(2)):\(minute.padded(2)):\(second.padded(2))" }

    private static func dayCount(of month: Int64, in year: Int64) -> Int64 {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

/// In UTC.
extension CivilTime {
    /// The UTC time of a number of seconds since 1970, over the range of microseconds in 64 bits.
    package init(secondsSince1970 seconds: Int64) {
        let (days, second) = seconds.flooredDivision(by: 86_400)
        // Counts in years that begin in March, so the leap day is the last day of its year; 400 such years have 146,097
        // days, and there are 719,468 days between 0000-03-01 and 1970-01-01.
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        (hour, minute, self.second) = (second / 3600, second / 60 % 60, second % 60)
    }

    /// Seconds since 1970, taking this as UTC.
    package var secondsSince1970: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).flooredDivision(by: 400)
        let monthFromMarch = month > 2 ? month - 3 : month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return days * 86_400 + hour * 3600 + minute * 60 + second
    }
}

/// In the local time zone.
extension CivilTime {
    package init(localSecondsSince1970 seconds: Int64) {
        var (moment, parts) = (time_t(seconds), tm())
        guard localtime_r(&moment, &parts) != nil else {
            // The year does not fit into 32 bits.
            self.init(secondsSince1970: seconds)
            return
        }
        self.init(secondsSince1970: seconds + Int64(parts.tm_gmtoff))
    }

    /// Seconds since 1970, taking this as local time. If clocks were set back at that time, the local time occurred
    /// twice, and the system picks one of the two.
    package var localSecondsSince1970: Int64 {
        var parts = tm()
        parts.tm_year = Int32(clamping: year - 1900)
        parts.tm_mon = Int32(month - 1)
        parts.tm_mday = Int32(day)
        parts.tm_hour = Int32(hour)
        parts.tm_min = Int32(minute)
        parts.tm_sec = Int32(second)
        // The system determines whether daylight saving time applies.
        parts.tm_isdst = -1
        return Int64(mktime(&parts))
    }
}

extension RandomAccessCollection<UInt8> {
    /// The number of exactly `count` ASCII digits; nil for anything else.
    package func decimal(at offset: Int, count: Int) -> Int64? {
        guard offset + count <= self.count else { return nil }
        var number: Int64 = 0
        for byte in dropFirst(offset).prefix(count) {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int64(byte - 0x30)
        }
        return number
    }
}

extension BinaryInteger {
    /// With leading zeros up to a width, and lowercase digits.
    package func padded(_ width: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
}

extension Int64 {
    /// Quotient and a remainder that is never negative.
    package func flooredDivision(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
