internal import MediaCore

/// The dates in the TIFF structure of Exif data (TIFF 6.0 section 2; Exif 2.32 sections 4.6.4 and 4.6.5).
///
/// Reads the first directory and the Exif directory, once each: however directories point at each other, nothing loops.
struct ExifDates {
    /// Text of the tags that matter, by tag.
    private var texts: [UInt16: [UInt8]] = [:]

    private static let exifDirectory: UInt16 = 0x8769
    /// Tags of a date, of its offset from UTC and of its fraction, best first.
    private static let dates: [(date: UInt16, offset: UInt16, fraction: UInt16)] = [
        (0x9003, 0x9011, 0x9291),  // DateTimeOriginal
        (0x9004, 0x9012, 0x9292),  // DateTimeDigitized
        (0x0132, 0x9010, 0x9290),  // DateTime
    ]
    private static let wanted = Set(dates.flatMap { [$0.date, $0.offset, $0.fraction] })

    init(in block: ExifBlock, of content: inout BoundedContent) {
        guard let header = block.bytes(at: 0, count: 8, of: &content) else { return }
        let isLittleEndian: Bool
        switch header[0..<4] {
        case [0x49, 0x49, 0x2A, 0x00]: isLittleEndian = true
        case [0x4D, 0x4D, 0x00, 0x2A]: isLittleEndian = false
        default: return
        }
        let directory = Directory(block: block, isLittleEndian: isLittleEndian)
        guard let first = directory.number(header, at: 4, count: 4),
            let next = read(directory, at: Int64(first), of: &content)
        else { return }
        _ = read(directory, at: next, of: &content)
    }

    /// Microseconds since 1970 of the best date, and whether it came with an offset; without one, as if its digits were UTC.
    var best: (microseconds: Int64, hasOffset: Bool)? {
        for tags in Self.dates {
            guard let date = texts[tags.date].flatMap(Self.seconds) else { continue }
            let offset = texts[tags.offset].flatMap(Self.offsetSeconds)
            let fraction = texts[tags.fraction].map(Self.fraction) ?? 0
            return ((date - (offset ?? 0)) * 1_000_000 + fraction, offset != nil)
        }
        return nil
    }

    /// Takes over the tags that matter.
    ///
    /// - Returns: Where the Exif directory begins.
    private mutating func read(_ directory: Directory, at offset: Int64, of content: inout BoundedContent) -> Int64? {
        var next: Int64?
        for entry in directory.entries(at: offset, of: &content) {
            guard let tag = directory.number(entry, at: 0, count: 2).map(UInt16.init(truncatingIfNeeded:)) else {
                continue
            }
            if tag == Self.exifDirectory {
                next = directory.number(entry, at: 8, count: 4).map(Int64.init)
            } else if Self.wanted.contains(tag) {
                texts[tag] = directory.text(entry, of: &content)
            }
        }
        return next
    }

    // MARK: Texts

    /// `YYYY:MM:DD HH:MM:SS`; programs also write `-`, `/`, `.` or `T` between. Blanks and zeros mean that it is unknown.
    private static func seconds(_ text: [UInt8]) -> Int64? {
        guard let year = text.decimal(at: 0, count: 4), year > 0 else { return nil }
        return CivilTime(
            year: year,
            month: text.decimal(at: 5, count: 2),
            day: text.decimal(at: 8, count: 2),
            hour: text.decimal(at: 11, count: 2),
            minute: text.decimal(at: 14, count: 2),
            second: text.decimal(at: 17, count: 2)
        )?.secondsSince1970
    }

    /// `+09:00` or `Z`; nil for blanks and for what is no offset of any zone.
    private static func offsetSeconds(_ text: [UInt8]) -> Int64? {
        guard let sign = text.first else { return nil }
        if sign == UInt8(ascii: "Z") { return 0 }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), text.count >= 6, text[3] == UInt8(ascii: ":"),
            let hours = text.decimal(at: 1, count: 2), let minutes = text.decimal(at: 4, count: 2), hours <= 14,
            minutes < 60
        else { return nil }
        let seconds = hours * 3_600 + minutes * 60
        return sign == UInt8(ascii: "-") ? -seconds : seconds
    }

    /// Digits behind the decimal point, as microseconds; more than six are cut off.
    private static func fraction(_ text: [UInt8]) -> Int64 {
        let digits = text.prefix(6).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let value = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return (digits.count..<6).reduce(value) { value, _ in value * 10 }
    }
}

/// How directories of one block are read.
private struct Directory {
    let block: ExifBlock
    let isLittleEndian: Bool

    /// More entries than any camera writes; what follows is not looked at.
    private static let maximumEntries = 1_024
    /// Longer than any text that is wanted.
    private static let maximumText = 64
    /// Type of text: 7-bit ASCII, ended by zero.
    private static let ascii: UInt64 = 2

    func number(_ bytes: [UInt8], at offset: Int, count: Int) -> UInt64? {
        isLittleEndian ? bytes.littleEndian(at: offset, count: count) : bytes.bigEndian(at: offset, count: count)
    }

    /// The entries, 12 bytes each: tag, type, count, value or where it lies.
    func entries(at offset: Int64, of content: inout BoundedContent) -> [[UInt8]] {
        guard let head = block.bytes(at: offset, count: 2, of: &content),
            let announced = number(head, at: 0, count: 2)
        else { return [] }
        let room = (block.end - block.start - offset - 2) / 12
        let count = Int(min(Int64(announced), room, Int64(Self.maximumEntries)))
        guard let bytes = block.bytes(at: offset + 2, count: count * 12, of: &content) else { return [] }
        return (0..<count).map { Array(bytes[$0 * 12..<$0 * 12 + 12]) }
    }

    /// A text without its zeros; nil for other types and beyond the end.
    func text(_ entry: [UInt8], of content: inout BoundedContent) -> [UInt8]? {
        guard number(entry, at: 2, count: 2) == Self.ascii, let announced = number(entry, at: 4, count: 4) else {
            return nil
        }
        let count = Int(min(announced, UInt64(Self.maximumText)))
        // Up to four bytes stand in the entry itself.
        guard announced > 4 else { return Array(entry[8..<8 + count].prefix { $0 != 0 }) }
        guard let offset = number(entry, at: 8, count: 4) else { return nil }
        return block.bytes(at: Int64(offset), count: count, of: &content).map { Array($0.prefix { $0 != 0 }) }
    }
}
