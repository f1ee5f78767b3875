/// Offsets of time zones from UTC.
package enum UTCOffset {
    /// Offsets in use on Earth, in seconds east of UTC: from Baker Island to Kiritimati.
    package static let range: ClosedRange<Int64> = -12 * 3_600...14 * 3_600

    /// Reads `±hh:mm` or `Z` as seconds east of UTC; nil for anything else, and for an offset outside `range`.
    package static func seconds(_ text: some Sequence<UInt8>) -> Int64? {
        belowOneDay(Array(text)).flatMap { range.contains($0) ? $0 : nil }
    }

    /// Reads any offset of less than a day, as RFC 3339 allows; nil for anything else.
    static func belowOneDay(_ text: some RandomAccessCollection<UInt8>) -> Int64? {
        if text.count == 1 { return text.first == UInt8(ascii: "Z") ? 0 : nil }
        guard text.count == 6, let sign = text.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"),
            text.dropFirst(3).first == UInt8(ascii: ":"), let hours = text.decimal(at: 1, count: 2),
            let minutes = text.decimal(at: 4, count: 2), hours < 24, minutes < 60
        else { return nil }
        return (hours * 3_600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
}
