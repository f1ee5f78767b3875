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
