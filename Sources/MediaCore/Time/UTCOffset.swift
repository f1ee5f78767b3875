/// Offsets of time zones from UTC.
package enum UTCOffset {
    /// Offsets in use on Earth, in seconds east of UTC: from Baker Island to Kiritimati.
    package static let range: ClosedRange<Int64> = -12 * 3_600...14 * 3_600

    /// Reads `±hh:mm` or `Z` as seconds east of UTC; nil for anything else, and for an offset that no time zone has.
    package static func seconds(_ text: some Sequence<UInt8>) -> Int64? {
        let text = Array(text)
        if text == [UInt8(ascii: "Z")] { return 0 }
        guard text.count == 6, text[0] == UInt8(ascii: "+") || text[0] == UInt8(ascii: "-"),
            text[3] == UInt8(ascii: ":"), let hours = text.decimal(at: 1, count: 2),
            let minutes = text.decimal(at: 4, count: 2), minutes < 60
        else { return nil }
        let seconds = (hours * 3_600 + minutes * 60) * (text[0] == UInt8(ascii: "-") ? -1 : 1)
        return range.contains(seconds) ? seconds : nil
    }
}
