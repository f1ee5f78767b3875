internal import MediaCore

/// The item of type `Exif` in a HEIF file (ISO/IEC 23008-12 annex A.2.1; the boxes are defined in ISO/IEC 14496-12
/// section 8.11).
enum HEIFExifItem {
    static func find(in content: BoundedContent) -> Span? {
        // Version and flags precede the inner boxes.
        guard let meta = content.box("meta", in: content.whole)?.dropping(4),
            let item = exifItem(in: meta, of: content),
            let place = place(of: item, in: meta, of: content),
            // The offset of the TIFF structure is relative to the end of this number.
            let rest = place.dropping(4),
            let skipped = content.bigEndian(at: place.start, count: 4)
        else { return nil }
        return rest.dropping(Int64(skipped))
    }

    /// The number of the first item of type `Exif`: `iinf` contains an `infe` for each item.
    private static func exifItem(in meta: Span, of content: BoundedContent) -> UInt64? {
        guard let list = content.box("iinf", in: meta),
            let version = content.bytes(at: list.start, count: 1)?.first,
            let entries = list.dropping(version == 0 ? 6 : 8)
        else { return nil }
        for entry in content.boxes(in: entries) where entry.type == "infe" {
            guard let version = content.bytes(at: entry.content.start, count: 1)?.first else { continue }
            // Version 2 numbers items with 16 bits, version 3 with 32; older versions have no types. Protection and
            // type follow.
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

    /// The range of an item in the file or in the `idat` box; nil if it is not contiguous.
    private static func place(of item: UInt64, in meta: Span, of content: BoundedContent) -> Span? {
        guard let location = ItemLocations(in: meta, of: content)?.location(of: item),
            let area = location.isInItemData ? content.box("idat", in: meta) : content.whole,
            let begun = area.dropping(location.offset)
        else { return nil }
        // A length of zero means all remaining data.
        guard location.count > 0 else { return begun }
        return location.count <= begun.count ? Span(start: begun.start, end: begun.start + location.count) : nil
    }
}

/// The `iloc` box (ISO/IEC 14496-12 section 8.11.3).
struct ItemLocations {
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

    init?(in meta: Span, of content: BoundedContent) {
        guard let box = content.box("iloc", in: meta), box.count <= 1 << 20,
            let bytes = content.bytes(at: box.start, count: Int(box.count)), bytes.count >= 6, bytes[0] <= 2
        else { return nil }
        version = bytes[0]
        offsetSize = Int(bytes[4] >> 4)
        lengthSize = Int(bytes[4] & 15)
        baseSize = Int(bytes[5] >> 4)
        indexSize = version == 0 ? 0 : Int(bytes[5] & 15)
        guard [offsetSize, lengthSize, baseSize, indexSize].allSatisfy([0, 4, 8].contains) else { return nil }
        fields = FieldReader(bytes: bytes, offset: 6)
    }

    /// Searches the items. Each occupies bytes of the box, so a hostile count is limited by the size of the box.
    func location(of wanted: UInt64) -> Location? {
        var fields = fields
        guard let count = fields.next(version < 2 ? 2 : 4) else { return nil }
        for _ in 0..<count {
            guard let item = fields.next(version < 2 ? 2 : 4), let method = version == 0 ? 0 : fields.next(2),
                let dataReference = fields.next(2), let base = fields.next(baseSize), let extents = fields.next(2)
            else { return nil }
            if item == wanted {
                // Method 0 means this file, and 1 means `idat`; other methods, and other files, are not supported for
                // Exif.
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

    /// Calls `isValid` for each extent of each item in this file or in `idat`, until `isValid` returns false.
    ///
    /// - Returns: Whether the box and all extents are valid.
    func forEachExtent(
        _ isValid: (_ item: UInt64, _ isInItemData: Bool, _ offset: Int64, _ count: Int64) -> Bool
    ) -> Bool {
        var fields = fields
        guard let count = fields.next(version < 2 ? 2 : 4) else { return false }
        for _ in 0..<count {
            guard let item = fields.next(version < 2 ? 2 : 4), let method = version == 0 ? 0 : fields.next(2),
                let dataReference = fields.next(2), let base = fields.next(baseSize), let extents = fields.next(2)
            else { return false }
            // If extents occupied no bytes of the box, its size would not limit the loop.
            guard extents <= 1 || indexSize + offsetSize + lengthSize > 0 else { return false }
            for _ in 0..<extents {
                guard fields.next(indexSize) != nil, let offset = fields.next(offsetSize),
                    let length = fields.next(lengthSize)
                else { return false }
                // Extents with other construction methods or in other files are not checked.
                guard dataReference == 0, method & 15 <= 1 else { continue }
                let (start, isTooFar) = base.addingReportingOverflow(offset)
                guard !isTooFar, isValid(item, method & 15 == 1, Int64(clamping: start), Int64(clamping: length)) else {
                    return false
                }
            }
        }
        return true
    }
}

/// Reads consecutive integers.
struct FieldReader {
    let bytes: [UInt8]
    var offset: Int

    /// The next integer; 0 for a size of 0 bytes, nil beyond the end.
    mutating func next(_ count: Int) -> UInt64? {
        defer { offset += count }
        return bytes.bigEndian(at: offset, count: count)
    }

    /// - Returns: False if fewer bytes are left.
    mutating func skip(_ count: Int) -> Bool {
        offset += count
        return offset <= bytes.count
    }
}

/// The range of the TIFF structure of a photo's Exif data in the file.
enum ExifBlock {
    /// Finds the range according to the file's format.
    static func find(in content: BoundedContent) -> Span? {
        guard let start = content.bytes(at: 0, count: 12) else { return nil }
        if start.starts(with: [0xFF, 0xD8]) { return inJPEG(content) }
        if start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return inPNG(content) }
        if start.fourCharacters(at: 0) == "RIFF", start.fourCharacters(at: 8) == "WEBP" { return inWebP(content) }
        if start.fourCharacters(at: 4) == "ftyp" { return HEIFExifItem.find(in: content) }
        // The whole file is the structure: TIFF, or a raw format based on it (DNG, NEF, CR2, ARW, RW2, ORF).
        return TIFFStructure.isLittleEndian(start) == nil ? nil : content.whole
    }

    /// In an APP1 segment before the image data (Exif 2.32 section 4.7.2; ITU-T T.81 annex B).
    private static func inJPEG(_ content: BoundedContent) -> Span? {
        var start: Int64 = 2
        while let header = content.bytes(at: start, count: 4), header[0] == 0xFF {
            switch header[1] {
            // A fill byte, or a marker without a segment.
            case 0xFF: start += 1
            case 0x01, 0xD0...0xD8: start += 2
            // The image data begins, or the file ends.
            case 0xDA, 0xD9: return nil
            default:
                let size = Int64(header[2]) << 8 | Int64(header[3])
                guard size >= 2, size <= content.count - start - 2 else { return nil }
                let segment = Span(start: start + 4, end: start + 2 + size)
                if header[1] == 0xE1, let block = behindIdentifier(of: segment, in: content) { return block }
                start = segment.end
            }
        }
        return nil
    }

    /// The `eXIf` chunk, before or after the image data (PNG, third edition, section 11.3.3.6).
    private static func inPNG(_ content: BoundedContent) -> Span? {
        var start: Int64 = 8
        while let header = content.bytes(at: start, count: 8), let size = header.bigEndian(at: 0, count: 4) {
            // A checksum of four bytes follows.
            guard Int64(size) <= content.count - start - 12 else { return nil }
            let chunk = Span(start: start + 8, end: start + 8 + Int64(size))
            switch header.fourCharacters(at: 4) {
            case "eXIf": return behindIdentifier(of: chunk, in: content) ?? chunk
            case "IEND": return nil
            default: start = chunk.end + 4
            }
        }
        return nil
    }

    /// The `EXIF` chunk (RFC 9649 section 2.7.1.5); many encoders write the JPEG identifier before the data.
    private static func inWebP(_ content: BoundedContent) -> Span? {
        RIFFChunks.first("EXIF", in: Span(start: 12, end: content.count), of: content)
            .map { behindIdentifier(of: $0, in: content) ?? $0 }
    }

    /// The data after `Exif` and two zeros; nil if the block does not begin with these bytes.
    private static func behindIdentifier(of block: Span, in content: BoundedContent) -> Span? {
        guard let rest = block.dropping(6), content.bytes(at: block.start, count: 6) == Array("Exif\0\0".utf8) else {
            return nil
        }
        return rest
    }
}

/// Values from the Exif data of a photo (Exif 2.32, CIPA DC-008; TIFF 6.0 section 2), in JPEG, PNG, WebP, HEIF, TIFF
/// and the raw formats based on TIFF.
///
/// The file type is determined by the first bytes, not by the name. Reads a few kilobytes, never the whole file: the
/// first directory and those for Exif and GPS, once each, so directories that refer to each other cannot cause a loop.
package struct PhotoExif {
    /// Texts of the relevant tags, by tag.
    private var texts: [UInt16: [UInt8]] = [:]
    private var gpsTexts: [UInt16: [UInt8]] = [:]
    private var gpsFractions: [UInt16: [Fraction]] = [:]

    /// The tags of each date, its UTC offset and its fraction, in order of preference.
    private static let dates: [(date: UInt16, offset: UInt16, fraction: UInt16)] = [
        (0x9003, 0x9011, 0x9291),  // DateTimeOriginal
        (0x9004, 0x9012, 0x9292),  // DateTimeDigitized
        (0x0132, 0x9010, 0x9290),  // DateTime
    ]

    /// nil if the file has no Exif data.
    package init?(of file: SourceFile) {
        // A PNG encoder that writes chunks of 8 KiB may write 6,400 of them (50 MiB) before the required one.
        let content = BoundedContent(of: file, reads: 16_384)
        guard let block = ExifBlock.find(in: content), let tiff = TIFFStructure(block, in: content) else {
            return nil
        }
        let first = tiff.entries(at: tiff.start, of: content)
        let exif = tiff.entries(at: tiff.offset(first[0x8769]), of: content)
        let gps = tiff.entries(at: tiff.offset(first[0x8825]), of: content)
        model = tiff.text(first[0x0110], of: content).flatMap { String(validating: $0, as: UTF8.self) }
        imageUniqueID = tiff.text(exif[0xA420], of: content).flatMap { String(validating: $0, as: UTF8.self) }
        for tag in Self.dates.flatMap({ [$0.date, $0.offset, $0.fraction] }) {
            texts[tag] = tiff.text(exif[tag] ?? first[tag], of: content)
        }
        for (tag, entry) in gps where tag <= GPS.dateStamp {
            gpsTexts[tag] = tiff.text(entry, of: content)
            gpsFractions[tag] = tiff.fractions(entry, of: content)
        }
    }

    /// The camera model, without the manufacturer; nil if it is not UTF-8.
    package let model: String?

    /// `ImageUniqueID`; nil if it is not UTF-8. PhotoSync servers write the ID of the photo to it.
    package let imageUniqueID: String?

    /// Microseconds since 1970 of `DateTimeOriginal`, else `DateTimeDigitized`, else `DateTime`, with their fractions
    /// and offsets, and whether there was an offset; nil if none is a valid time in the years 1 to 9999.
    ///
    /// A time with an offset is converted to UTC. A time without an offset, which most cameras write, is the camera's
    /// wall clock; it is interpreted as UTC, which leaves its digits unchanged. PhotoSync servers do the same with
    /// files uploaded without a date (photosync contract 3.1), and this puts the photo into the month that the
    /// photographer expects.
    package var captureTime: (microseconds: Int64, hasOffset: Bool)? {
        for tags in Self.dates {
            guard let date = texts[tags.date].flatMap(Self.seconds) else { continue }
            let offset = texts[tags.offset].flatMap(Self.offsetSeconds)
            let fraction = texts[tags.fraction].map(Self.fraction) ?? 0
            return ((date - (offset ?? 0)) * 1_000_000 + fraction, offset != nil)
        }
        return nil
    }

    // MARK: GPS (Exif 2.32 section 4.6.6)

    /// Tags of the GPS directory.
    private enum GPS {
        static let latitudeReference: UInt16 = 1
        static let latitude: UInt16 = 2
        static let longitudeReference: UInt16 = 3
        static let longitude: UInt16 = 4
        static let timeStamp: UInt16 = 7
        static let status: UInt16 = 9
        static let dateStamp: UInt16 = 0x1D
    }

    /// Degrees; nil unless all four tags are present and valid. 0, 0 is in the sea, and cameras without a fix write it,
    /// so it is treated as unknown.
    package var position: (latitude: Double, longitude: Double)? {
        // A void measurement is not a position.
        guard gpsTexts[GPS.status]?.first != UInt8(ascii: "V"),
            let latitude = angle(GPS.latitude, reference: GPS.latitudeReference, "N", "S", limit: 90),
            let longitude = angle(GPS.longitude, reference: GPS.longitudeReference, "E", "W", limit: 180),
            latitude.units != 0 || longitude.units != 0
        else { return nil }
        return (latitude.degrees, longitude.degrees)
    }

    private func angle(
        _ tag: UInt16,
        reference: UInt16,
        _ positive: Unicode.Scalar,
        _ negative: Unicode.Scalar,
        limit: UInt64
    ) -> DecimalDegrees? {
        guard let side = gpsTexts[reference]?.first, let parts = gpsFractions[tag] else { return nil }
        switch Unicode.Scalar(side) {
        case positive: return DecimalDegrees(parts, isNegative: false, limit: limit)
        case negative: return DecimalDegrees(parts, isNegative: true, limit: limit)
        default: return nil
        }
    }

    /// The UTC time in `GPSDateStamp` and `GPSTimeStamp`, in microseconds since 1970.
    package var satelliteMicroseconds: Int64? {
        guard let date = gpsTexts[GPS.dateStamp], date.count == 10, let time = gpsFractions[GPS.timeStamp],
            let midnight = CivilTime(date, at: [0, 5, 8]), midnight.year > 0,
            time[0].value < 24, time[1].value < 60, time[2].value < 61
        else { return nil }
        let seconds = time[0].value * 3_600 + time[1].value * 60 + time[2].value
        return midnight.secondsSince1970 * 1_000_000 + Int64((seconds * 1_000_000).rounded())
    }

    // MARK: Parsing

    /// `YYYY:MM:DD HH:MM:SS`; programs also write `-`, `/`, `.` or `T` as separators. Blanks and zeros mean unknown.
    private static func seconds(_ text: [UInt8]) -> Int64? {
        guard let time = CivilTime(text, at: [0, 5, 8, 11, 14, 17]), time.year > 0 else { return nil }
        return time.secondsSince1970
    }

    /// `+09:00` or `Z`, ignoring any text after it; nil for blanks and for an impossible offset.
    private static func offsetSeconds(_ text: [UInt8]) -> Int64? {
        UTCOffset.seconds(text.first == UInt8(ascii: "Z") ? text.prefix(1) : text.prefix(6))
    }

    /// Digits after the decimal point, as microseconds; further digits are truncated.
    private static func fraction(_ text: [UInt8]) -> Int64 {
        let digits = text.prefix(6).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let value = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
        return (digits.count..<6).reduce(value) { value, _ in value * 10 }
    }
}

/// The directories in one block, and their values.
private struct TIFFStructure {
    private let block: Span
    private let isLittleEndian: Bool
    /// Offset of the first directory.
    private(set) var start: Int64 = 0

    /// More entries than any camera writes; further entries are ignored.
    private static let maximumEntries = 1_024
    /// Longer than any relevant text.
    private static let maximumText = 2_048
    /// Type of text: 7-bit ASCII, terminated by zero.
    private static let ascii: UInt64 = 2
    /// Type of fractions: two 32-bit numbers.
    private static let rational: UInt64 = 5

    init?(_ block: Span, in content: BoundedContent) {
        guard let header = Self.bytes(of: block, at: 0, count: 8, in: content),
            let isLittleEndian = Self.isLittleEndian(header)
        else { return nil }
        self.isLittleEndian = isLittleEndian
        self.block = block
        start = number(header, at: 4, count: 4).map(Int64.init) ?? 0
    }

    /// The byte order from the first four bytes: those used by TIFF, or by Panasonic's and Olympus's raw formats, which
    /// otherwise match TIFF. nil for other bytes.
    static func isLittleEndian(_ header: [UInt8]) -> Bool? {
        switch header.prefix(4) {
        case [0x49, 0x49, 0x2A, 0x00], [0x49, 0x49, 0x55, 0x00], [0x49, 0x49, 0x52, 0x4F], [0x49, 0x49, 0x52, 0x53]:
            true
        case [0x4D, 0x4D, 0x00, 0x2A], [0x4D, 0x4D, 0x4F, 0x52]: false
        default: nil
        }
    }

    /// Bytes of the block; nil beyond its end.
    private static func bytes(of block: Span, at offset: Int64, count: Int, in content: BoundedContent) -> [UInt8]? {
        guard offset >= 0, let rest = block.dropping(offset), rest.dropping(Int64(count)) != nil else { return nil }
        return content.bytes(at: rest.start, count: count)
    }

    private func number(_ bytes: [UInt8], at offset: Int, count: Int) -> UInt64? {
        isLittleEndian ? bytes.littleEndian(at: offset, count: count) : bytes.bigEndian(at: offset, count: count)
    }

    /// The entries by tag, 12 bytes each: tag, type, count, and the value or its offset.
    func entries(at offset: Int64?, of content: BoundedContent) -> [UInt16: [UInt8]] {
        guard let offset, let head = Self.bytes(of: block, at: offset, count: 2, in: content),
            let announced = number(head, at: 0, count: 2)
        else { return [:] }
        let room = (block.count - offset - 2) / 12
        let count = Int(min(Int64(announced), room, Int64(Self.maximumEntries)))
        guard let bytes = Self.bytes(of: block, at: offset + 2, count: count * 12, in: content) else { return [:] }
        return (0..<count).reduce(into: [:]) { entries, index in
            let entry = Array(bytes[index * 12..<index * 12 + 12])
            entries[UInt16(truncatingIfNeeded: number(entry, at: 0, count: 2) ?? 0)] = entry
        }
    }

    /// The offset of an entry's value, or of the directory that it refers to.
    func offset(_ entry: [UInt8]?) -> Int64? {
        entry.flatMap { number($0, at: 8, count: 4) }.map(Int64.init)
    }

    /// A text without its zeros; nil for other types and beyond the end.
    func text(_ entry: [UInt8]?, of content: BoundedContent) -> [UInt8]? {
        guard let entry, number(entry, at: 2, count: 2) == Self.ascii, let announced = number(entry, at: 4, count: 4)
        else { return nil }
        let count = Int(min(announced, UInt64(Self.maximumText)))
        // Up to four bytes are stored in the entry itself.
        guard announced > 4 else { return Array(entry[8..<8 + count].prefix { $0 != 0 }) }
        guard let offset = offset(entry) else { return nil }
        return Self.bytes(of: block, at: offset, count: count, in: content).map { Array($0.prefix { $0 != 0 }) }
    }

    /// The three fractions of an angle or a time; nil for other values, beyond the end, and if a denominator is 0.
    func fractions(_ entry: [UInt8], of content: BoundedContent) -> [Fraction]? {
        guard number(entry, at: 2, count: 2) == Self.rational, number(entry, at: 4, count: 4) == 3,
            let offset = offset(entry), let bytes = Self.bytes(of: block, at: offset, count: 24, in: content)
        else { return nil }
        let numbers = stride(from: 0, to: 24, by: 4).compactMap { number(bytes, at: $0, count: 4) }
        let values = stride(from: 0, to: 6, by: 2).compactMap { Fraction(numbers[$0], numbers[$0 + 1]) }
        return values.count == 3 ? values : nil
    }
}
