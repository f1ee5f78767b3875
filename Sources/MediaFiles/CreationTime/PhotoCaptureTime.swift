internal import MediaCore

/// When a photo was taken, as its Exif data say (Exif 2.32, CIPA DC-008).
package enum PhotoCaptureTime {
    /// Microseconds since 1970 of `DateTimeOriginal`, else `DateTimeDigitized`, else `DateTime`, with their fractions and
    /// offsets, in JPEG, PNG, WebP and HEIF; nil where none of them names a time that exists in the years 1 to 9999.
    ///
    /// A time with an offset is converted to UTC. One without, which most cameras write, is the camera's wall clock; it is
    /// given as if it were UTC, so that its digits stay as they are. That is what PhotoSync servers do with files that come
    /// without a date (photosync contract 3.1), and it puts the photo into the month that the photographer expects.
    ///
    /// The kind of file is told by its first bytes, not by its name. Reads a few kilobytes, never the whole file.
    package static func microseconds(of file: SourceFile) -> Int64? { best(of: file)?.microseconds }

    /// The same, and whether it is known to be UTC.
    package static func best(of file: SourceFile) -> (microseconds: Int64, hasOffset: Bool)? {
        // A PNG encoder that writes chunks of 8 KiB makes 6,400 of 50 MiB before the one that is wanted.
        var content = BoundedContent(of: file, reads: 16_384)
        return ExifBlock.find(in: &content).flatMap { ExifDates(in: $0, of: &content).best }
    }
}

/// The Exif data of a photo as they stand in the file, for a library that reads them.
package enum PhotoExif {
    /// As much as a segment of a JPEG file can hold; pictures inside, which come last, may be cut off.
    package static let byteLimit = 65_527

    /// The TIFF structure in JPEG, PNG, WebP and HEIF, at most `byteLimit` bytes of it; nil where there is none.
    ///
    /// - Parameter file: Its kind is told by its first bytes, not by its name.
    /// - Returns: The bytes, byte order mark first.
    package static func structure(of file: SourceFile) -> [UInt8]? {
        var content = BoundedContent(of: file, reads: 16_384)
        guard let block = ExifBlock.find(in: &content), block.end > block.start else { return nil }
        return content.bytes(at: block.start, count: Int(min(block.end - block.start, Int64(byteLimit))))
    }
}

/// The item of type `Exif` in a HEIF file (ISO/IEC 23008-12 annex A.2.1; boxes of ISO/IEC 14496-12 section 8.11).
enum HEIFExifItem {
    static func find(in content: inout BoundedContent) -> ExifBlock? {
        let file = ISOBoxes.Span(start: 0, end: content.count)
        // Version and flags precede the boxes inside.
        guard let meta = ISOBoxes.first("meta", in: file, of: &content)?.dropping(4),
            let item = exifItem(in: meta, of: &content),
            let place = place(of: item, in: meta, of: &content),
            // How far behind this number the TIFF structure begins.
            place.end - place.start >= 4,
            let skipped = content.bytes(at: place.start, count: 4)?.bigEndian(at: 0, count: 4),
            Int64(skipped) <= place.end - place.start - 4
        else { return nil }
        return ExifBlock(start: place.start + 4 + Int64(skipped), end: place.end)
    }

    /// The number of the first item of that type: `iinf` holds an `infe` for each.
    private static func exifItem(in meta: ISOBoxes.Span, of content: inout BoundedContent) -> UInt64? {
        guard let list = ISOBoxes.first("iinf", in: meta, of: &content),
            let version = content.bytes(at: list.start, count: 1)?.first,
            let entries = list.dropping(version == 0 ? 6 : 8)
        else { return nil }
        var start = entries.start
        while let entry = ISOBoxes.box(at: start, before: entries.end, of: &content) {
            start = entry.content.end
            guard entry.type == "infe", let version = content.bytes(at: entry.content.start, count: 1)?.first else {
                continue
            }
            // Version 2 numbers items with 16 bits, version 3 with 32; older ones have no types. Protection, type follow.
            let numberCount = version == 2 ? 2 : 4
            let fieldCount = 4 + numberCount + 2 + 4
            guard version >= 2, entry.content.dropping(Int64(fieldCount)) != nil,
                let fields = content.bytes(at: entry.content.start, count: fieldCount),
                fields.fourCharacters(at: fieldCount - 4) == "Exif"
            else { continue }
            return fields.bigEndian(at: 4, count: numberCount)
        }
        return nil
    }

    /// Where an item lies: in the file or in the `idat` box, in one piece.
    private static func place(
        of item: UInt64,
        in meta: ISOBoxes.Span,
        of content: inout BoundedContent
    ) -> ISOBoxes.Span? {
        guard let box = ISOBoxes.first("iloc", in: meta, of: &content), box.end - box.start <= 1 << 20,
            let bytes = content.bytes(at: box.start, count: Int(box.end - box.start)),
            let location = ItemLocations(bytes).flatMap({ $0.location(of: item) })
        else { return nil }
        var area = ISOBoxes.Span(start: 0, end: content.count)
        if location.isInItemData {
            guard let data = ISOBoxes.first("idat", in: meta, of: &content) else { return nil }
            area = data
        }
        guard let begun = area.dropping(location.offset) else { return nil }
        // A length of zero means all that follows.
        guard location.count > 0 else { return begun }
        return location.count <= begun.end - begun.start
            ? ISOBoxes.Span(start: begun.start, end: begun.start + location.count) : nil
    }
}

/// The `iloc` box (ISO/IEC 14496-12 section 8.11.3).
private struct ItemLocations {
    private var fields: FieldReader
    private let version: UInt8
    private let offsetSize: Int
    private let lengthSize: Int
    private let baseSize: Int
    private let indexSize: Int

    struct Location {
        var isInItemData: Bool
        var offset: Int64
        var count: Int64
    }

    init?(_ bytes: [UInt8]) {
        guard bytes.count >= 6, bytes[0] <= 2 else { return nil }
        version = bytes[0]
        offsetSize = Int(bytes[4] >> 4)
        lengthSize = Int(bytes[4] & 15)
        baseSize = Int(bytes[5] >> 4)
        indexSize = version == 0 ? 0 : Int(bytes[5] & 15)
        guard [offsetSize, lengthSize, baseSize, indexSize].allSatisfy([0, 4, 8].contains) else { return nil }
        fields = FieldReader(bytes: bytes, offset: 6)
    }

    /// Goes through the items; each takes bytes of the box, so a hostile count ends with it.
    func location(of wanted: UInt64) -> Location? {
        var fields = fields
        guard let count = fields.next(version < 2 ? 2 : 4) else { return nil }
        for _ in 0..<count {
            guard let item = fields.next(version < 2 ? 2 : 4), let method = version == 0 ? 0 : fields.next(2),
                let dataReference = fields.next(2), let base = fields.next(baseSize), let extents = fields.next(2)
            else { return nil }
            if item == wanted {
                // 0: in this file, 1: in `idat`; others, and other files, are not for Exif.
                guard extents == 1, dataReference == 0, method & 15 <= 1, fields.next(indexSize) != nil,
                    let offset = fields.next(offsetSize), let length = fields.next(lengthSize)
                else { return nil }
                let (start, isTooFar) = base.addingReportingOverflow(offset)
                guard !isTooFar, let start = Int64(exactly: start), let length = Int64(exactly: length) else {
                    return nil
                }
                return Location(isInItemData: method & 15 == 1, offset: start, count: length)
            }
            guard fields.skip(Int(extents) * (indexSize + offsetSize + lengthSize)) else { return nil }
        }
        return nil
    }
}

/// Numbers one behind the other.
private struct FieldReader {
    let bytes: [UInt8]
    var offset: Int

    /// The next number; 0 for one of no bytes, nil beyond the end.
    mutating func next(_ count: Int) -> UInt64? {
        defer { offset += count }
        return bytes.bigEndian(at: offset, count: count)
    }

    /// - Returns: Whether there were so many bytes.
    mutating func skip(_ count: Int) -> Bool {
        offset += count
        return offset <= bytes.count
    }
}

/// Where the TIFF structure of a photo's Exif data lies in the file.
struct ExifBlock {
    var start: Int64
    var end: Int64

    /// Looks for it in the way of the file's format.
    static func find(in content: inout BoundedContent) -> ExifBlock? {
        guard let start = content.bytes(at: 0, count: 12) else { return nil }
        if start.starts(with: [0xFF, 0xD8]) { return inJPEG(&content) }
        if start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return inPNG(&content) }
        if start.fourCharacters(at: 0) == "RIFF", start.fourCharacters(at: 8) == "WEBP" { return inWebP(&content) }
        if start.fourCharacters(at: 4) == "ftyp" { return HEIFExifItem.find(in: &content) }
        return nil
    }

    /// In an APP1 segment before the picture (Exif 2.32 section 4.7.2; ITU-T T.81 annex B).
    private static func inJPEG(_ content: inout BoundedContent) -> ExifBlock? {
        var start: Int64 = 2
        while let header = content.bytes(at: start, count: 4), header[0] == 0xFF {
            switch header[1] {
            // A fill byte; markers without a segment.
            case 0xFF: start += 1
            case 0x01, 0xD0...0xD8: start += 2
            // The picture begins, or the file ends.
            case 0xDA, 0xD9: return nil
            default:
                let size = Int64(header[2]) << 8 | Int64(header[3])
                guard size >= 2, size <= content.count - start - 2 else { return nil }
                let segment = ExifBlock(start: start + 4, end: start + 2 + size)
                if header[1] == 0xE1, let block = segment.behindIdentifier(in: &content) { return block }
                start = segment.end
            }
        }
        return nil
    }

    /// The `eXIf` chunk, before or behind the picture (PNG, third edition, section 11.3.3.6).
    private static func inPNG(_ content: inout BoundedContent) -> ExifBlock? {
        var start: Int64 = 8
        while let header = content.bytes(at: start, count: 8), let size = header.bigEndian(at: 0, count: 4) {
            // A check sum of four bytes follows.
            guard Int64(size) <= content.count - start - 12 else { return nil }
            let chunk = ExifBlock(start: start + 8, end: start + 8 + Int64(size))
            switch header.fourCharacters(at: 4) {
            case "eXIf": return chunk.behindIdentifier(in: &content) ?? chunk
            case "IEND": return nil
            default: start = chunk.end + 4
            }
        }
        return nil
    }

    /// The `EXIF` chunk (RFC 9649 section 2.7.1.5); many encoders put the identifier of JPEG before the data.
    private static func inWebP(_ content: inout BoundedContent) -> ExifBlock? {
        var start: Int64 = 12
        while let header = content.bytes(at: start, count: 8), let size = header.littleEndian(at: 4, count: 4) {
            guard Int64(size) <= content.count - start - 8 else { return nil }
            let chunk = ExifBlock(start: start + 8, end: start + 8 + Int64(size))
            if header.fourCharacters(at: 0) == "EXIF" { return chunk.behindIdentifier(in: &content) ?? chunk }
            start = chunk.end + Int64(size % 2)
        }
        return nil
    }

    /// What follows `Exif` and two zeros; nil when the block does not begin with them.
    private func behindIdentifier(in content: inout BoundedContent) -> ExifBlock? {
        guard end - start >= 6, content.bytes(at: start, count: 6) == Array("Exif\0\0".utf8) else { return nil }
        return ExifBlock(start: start + 6, end: end)
    }

    /// Bytes of the block; nil beyond its end.
    func bytes(at offset: Int64, count: Int, of content: inout BoundedContent) -> [UInt8]? {
        guard offset >= 0, Int64(count) <= end - start, offset <= end - start - Int64(count) else { return nil }
        return content.bytes(at: start + offset, count: count)
    }
}

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
