internal import Glibc

/// Times as text (RFC 3339).
///
/// Foundation's parsers are not used: they disagree about fractions, store a time as a binary fraction, and take longer
/// than parsing the rest of a listing.
package enum RFC3339 {
    /// Reads a time with zone and 0 to 9 fraction digits into microseconds since 1970, by the rules of Go's
    /// `time.RFC3339`: capital `T` and `Z`, no leap second, `±hh:mm`. nil for anything else: no zone, `+0000` without a
    /// colon, a space instead of `T`, a day that does not exist.
    package static func microseconds(_ text: some StringProtocol) -> Int64? {
        var text = String(text)
        return text.withUTF8 { microseconds($0) }
    }

    /// Whole seconds since 1970, rounded down; nil in the same cases as `microseconds`.
    package static func seconds(_ text: some StringProtocol) -> Int64? {
        microseconds(text).map { $0.flooredDivision(by: 1_000_000).quotient }
    }

    /// Writes a time in UTC with `Z`; the fraction (at most 6 digits, without trailing zeros) only if there is one. nil
    /// outside the years 0000 to 9999.
    package static func text(microseconds: Int64) -> String? {
        let text = String(unsafeUninitializedCapacity: longestText) { write(microseconds, to: $0) }
        return text.isEmpty ? nil : text
    }

    /// Whether `text(microseconds:)` returns this text. Creates no string, because a listing can have
    /// two million times.
    package static func isText(_ text: String, of microseconds: Int64) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: longestText) { buffer in
            let count = write(microseconds, to: buffer)
            guard count == text.utf8.count, let written = buffer.baseAddress else { return false }
            var text = text
            return text.withUTF8 { text in text.baseAddress.map { memcmp($0, written, count) == 0 } ?? false }
        }
    }

    /// `2024-03-01T00:30:00.123456Z`
    private static let longestText = 27

    /// Returns the length; 0 outside the years 0000 to 9999.
    private static func write(_ microseconds: Int64, to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let (seconds, fraction) = microseconds.flooredDivision(by: 1_000_000)
        let time = CivilTime(secondsSince1970: seconds)
        guard (0...9999).contains(time.year) else { return 0 }
        var end = 0
        func put(_ value: Int64, _ count: Int, _ mark: UInt8) {
            var rest = value
            for place in (end..<end + count).reversed() {
                buffer[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            buffer[end + count] = mark
            end += count + 1
        }
        put(time.year, 4, UInt8(ascii: "-"))
        put(time.month, 2, UInt8(ascii: "-"))
        put(time.day, 2, UInt8(ascii: "T"))
        put(time.hour, 2, UInt8(ascii: ":"))
        put(time.minute, 2, UInt8(ascii: ":"))
        put(time.second, 2, fraction == 0 ? UInt8(ascii: "Z") : UInt8(ascii: "."))
        guard fraction != 0 else { return end }
        var (digits, count) = (fraction, 6)
        while digits % 10 == 0 { (digits, count) = (digits / 10, count - 1) }
        put(digits, count, UInt8(ascii: "Z"))
        return end
    }

    /// Writes a time in UTC with `Z`, without a fraction. Years outside 0000 to 9999 have a sign or more digits.
    package static func text(seconds: Int64) -> String { CivilTime(secondsSince1970: seconds).text + "Z" }

    /// Like `text(seconds:)`, with three digits of a fraction.
    package static func text(milliseconds: Int64) -> String {
        let (seconds, fraction) = milliseconds.flooredDivision(by: 1000)
        return "\(CivilTime(secondsSince1970: seconds).text).\(fraction.padded(3))Z"
    }

    // MARK: Reading

    /// `2024-03-01T00:30:00`: the beginning of every time.
    private static let wholeSecondCount = 19

    private static func microseconds(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard text.count > wholeSecondCount, let seconds = wallClock(text) else { return nil }
        var position = wholeSecondCount
        var fraction: Int64 = 0
        if text[position] == UInt8(ascii: ".") {
            position += 1
            let start = position
            var weight: Int64 = 100_000
            while position < text.count, let digit = text.decimal(at: position, count: 1) {
                fraction += digit * weight
                weight /= 10
                position += 1
            }
            guard (1...9).contains(position - start) else { return nil }
        }
        guard let offset = UTCOffset.belowOneDay(text[position...]) else { return nil }
        return (seconds - offset) * 1_000_000 + fraction
    }

    /// Seconds since 1970 for the part before the fraction, taken as UTC.
    private static func wallClock(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        guard text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"), text[10] == UInt8(ascii: "T"),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":"),
            let time = CivilTime(
                year: text.decimal(at: 0, count: 4),
                month: text.decimal(at: 5, count: 2),
                day: text.decimal(at: 8, count: 2),
                hour: text.decimal(at: 11, count: 2),
                minute: text.decimal(at: 14, count: 2),
                second: text.decimal(at: 17, count: 2)
            ), time.second < 60
        else { return nil }
        return time.secondsSince1970
    }
}
