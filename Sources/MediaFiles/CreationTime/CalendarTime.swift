internal import Glibc

/// A day and a time of the Gregorian calendar, in no particular zone.
struct CalendarTime: Equatable {
    private var year: Int
    private var month: Int
    private var day: Int
    private var hour: Int
    private var minute: Int
    private var second: Int

    /// Nil for a day or a time that does not exist.
    init?(year: Int?, month: Int?, day: Int?, hour: Int?, minute: Int?, second: Int?) {
        guard let year, let month, let day, let hour, let minute, let second,
            (1...12).contains(month), (1...Self.dayCount(month: month, year: year)).contains(day),
            (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second)
        else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// Seconds since 1970 when this is a time of UTC.
    var utcSeconds: Int64 {
        var parts = self.parts
        return Int64(timegm(&parts))
    }

    /// Seconds since 1970 when this is a time of the machine's zone.
    var localSeconds: Int64 {
        var parts = self.parts
        return Int64(mktime(&parts))
    }

    private var parts: tm {
        var parts = tm()
        parts.tm_year = Int32(year - 1_900)
        parts.tm_mon = Int32(month - 1)
        parts.tm_mday = Int32(day)
        parts.tm_hour = Int32(hour)
        parts.tm_min = Int32(minute)
        parts.tm_sec = Int32(second)
        // The system knows whether summer time holds.
        parts.tm_isdst = -1
        return parts
    }

    private static func dayCount(month: Int, year: Int) -> Int {
        switch month {
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension [UInt8] {
    /// A number of exactly that many ASCII digits; nil for anything else.
    func digits(at offset: Int, count: Int) -> Int? {
        guard offset + count <= self.count else { return nil }
        return self[offset..<offset + count].reduce(Int?(0)) { value, byte in
            guard let value, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            return value * 10 + Int(byte - UInt8(ascii: "0"))
        }
    }
}
