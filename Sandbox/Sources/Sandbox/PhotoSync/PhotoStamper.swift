import Foundation

/// Writes the ID of a photo into its file as Exif `ImageUniqueID` (in GIF, as XMP), like the real server's exiftool
/// (photosync contract, new fact 1).
enum PhotoStamper {
    /// Nil for files that exiftool cannot write.
    static func stamped(_ bytes: [UInt8], with id: String) -> [UInt8]? {
        if bytes.starts(with: [0xFF, 0xD8]) { return jpeg(bytes, id) }
        if bytes.starts(with: pngSignature) { return png(bytes, id) }
        if bytes.starts(with: Array("GIF8".utf8)) { return gif(bytes, id) }
        if bytes.starts(with: Array("RIFF".utf8)) { return webP(bytes, id) }
        if bytes.count >= 12, text(bytes, 4) == "ftyp" { return heif(bytes, id) }
        return nil
    }

    /// Replaces an Exif segment, or adds one after a JFIF segment (ITU-T T.81 annex B).
    private static func jpeg(_ bytes: [UInt8], _ id: String) -> [UInt8]? {
        guard let segments = JPEG.segments(bytes) else { return nil }
        let old = segments.last(where: { JPEG.isExif($0, bytes) })?.content
        let place: Int = segments.last(where: { $0.marker == 0xE0 })?.content.upperBound ?? 2
        let oldTIFF = old.map { Array(bytes[($0.lowerBound + 6)..<$0.upperBound]) }
        guard let tiff = TIFF.stamped(oldTIFF, with: id), tiff.count + 8 < 65_536 else { return nil }
        let segment = join([0xFF, 0xE1], big(tiff.count + 8, 2), JPEG.exif, tiff)
        return replacing(old.map { $0.lowerBound - 4..<$0.upperBound } ?? place..<place, of: bytes, with: segment)
    }

    private static let pngSignature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// An `eXIf` chunk before the image data.
    private static func png(_ bytes: [UInt8], _ id: String) -> [UInt8]? {
        var offset = 8
        var place: Int?
        var old: Range<Int>?
        while offset + 12 <= bytes.count {
            let end = offset + 12 + big(bytes, offset, 4)
            guard end <= bytes.count else { return nil }
            if text(bytes, offset + 4) == "IDAT" { place = place ?? offset }
            if text(bytes, offset + 4) == "eXIf" { old = offset..<end }
            offset = end
        }
        let oldTIFF = old.map { Array(bytes[($0.lowerBound + 8)..<($0.upperBound - 4)]) }
        guard let place, let tiff = TIFF.stamped(oldTIFF, with: id) else { return nil }
        let content = Array("eXIf".utf8) + tiff
        let chunk = join(big(tiff.count, 4), content, big(Int(checksum(content)), 4))
        return replacing(old ?? place..<place, of: bytes, with: chunk)
    }

    /// CRC-32 (PNG, third edition, annex D), bit by bit.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var value = UInt32.max
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 {
                let isOdd = value & 1 == 1
                value >>= 1
                if isOdd { value ^= 0xEDB8_8320 }
            }
        }
        return ~value
    }

    /// An application extension after the color table, in place of an earlier one: the packet and a trailer that ends it for
    /// programs that read sub-blocks (XMP specification, part 3, section 1.1.2).
    private static func gif(_ bytes: [UInt8], _ id: String) -> [UInt8]? {
        guard bytes.count > 13 else { return nil }
        let place = 13 + (bytes[10] & 0x80 == 0 ? 0 : 3 << (Int(bytes[10] & 7) + 1))
        guard place < bytes.count else { return nil }
        let packet = """
            <?xpacket begin='\u{FEFF}' id='W5M0MpCehiHzreSzNTczkc9d'?>
            <x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>
            <rdf:Description rdf:about='' xmlns:exif='http://ns.adobe.com/exif/1.0/'>
            <exif:ImageUniqueID>\(id)</exif:ImageUniqueID></rdf:Description></rdf:RDF></x:xmpmeta>
            <?xpacket end='w'?>
            """
        let trailer: [UInt8] = (0...255).reversed().map { UInt8($0) }
        let block = join([0x21, 0xFF, 11], Array("XMP DataXMP".utf8), Array(packet.utf8), [1], trailer, [0])
        // An earlier packet has the same length, and the same bytes up to the ID.
        let common = packet.components(separatedBy: id)[0].utf8.count + 14
        let isStamped = bytes[place...].starts(with: block[..<common]) && bytes.count >= place + block.count
        return replacing(place..<(place + (isStamped ? block.count : 0)), of: bytes, with: block)
    }

    /// An `EXIF` chunk at the end, announced in `VP8X` (RFC 9649 section 2.7).
    private static func webP(_ bytes: [UInt8], _ id: String) -> [UInt8]? {
        var chunks: [(type: String, content: [UInt8])] = []
        var offset = 12
        while offset + 8 <= bytes.count {
            let count = little(bytes, offset + 4, 4)
            guard offset + 8 + count <= bytes.count else { return nil }
            chunks.append((text(bytes, offset), Array(bytes[(offset + 8)..<(offset + 8 + count)])))
            offset += 8 + count + count % 2
        }
        guard let first = chunks.first else { return nil }
        if first.type == "VP8X", !first.content.isEmpty {
            chunks[0].content[0] |= 8
        } else {
            guard let size = size(ofWebP: first.type, first.content) else { return nil }
            let flags: UInt8 = 8 | (first.type == "VP8L" && first.content[4] & 0x10 != 0 ? 0x10 : 0)
            let extended = join([flags, 0, 0, 0], little(size.width - 1, 3), little(size.height - 1, 3))
            chunks.insert(("VP8X", extended), at: 0)
        }
        let old = chunks.first { $0.type == "EXIF" }?.content
        guard let tiff = TIFF.stamped(old, with: id) else { return nil }
        chunks.removeAll { $0.type == "EXIF" }
        chunks.append(("EXIF", tiff))
        let body = chunks.reduce(into: Array("WEBP".utf8)) { body, chunk in
            body += join(Array(chunk.type.utf8), little(chunk.content.count, 4), chunk.content)
            body += [UInt8](repeating: 0, count: chunk.content.count % 2)
        }
        return join(Array("RIFF".utf8), little(body.count, 4), body)
    }

    private static func size(ofWebP type: String, _ content: [UInt8]) -> ImageFacts.Size? {
        guard content.count >= 10 else { return nil }
        if type == "VP8L" {
            let bits = little(content, 1, 4)
            return ImageFacts.Size(width: bits & 0x3FFF + 1, height: bits >> 14 & 0x3FFF + 1)
        }
        guard type == "VP8 " else { return nil }
        return ImageFacts.Size(width: little(content, 6, 2) & 0x3FFF, height: little(content, 8, 2) & 0x3FFF)
    }

    /// An item of type `Exif` (ISO/IEC 23008-12 annex A). Its data and a new `meta` box are appended, and the old `meta` becomes
    /// a `free` box, so that no other item moves. An earlier ID is replaced. Files with another `Exif` item are not changed.
    private static func heif(_ bytes: [UInt8], _ id: String) -> [UInt8]? {
        guard let meta = boxes(bytes, 0..<bytes.count)?.first(where: { $0.type == "meta" }),
            var children = boxes(bytes, (meta.content.lowerBound + 4)..<meta.content.upperBound)
                .map({ $0.map { (type: $0.type, content: Array(bytes[$0.content])) } }),
            let list = children.firstIndex(where: { $0.type == "iinf" }),
            let places = children.firstIndex(where: { $0.type == "iloc" }),
            let primary = children.first(where: { $0.type == "pitm" })?.content, primary.count == 6,
            children[list].content.first == 0, children[list].content.count >= 6,
            let tiff = TIFF.stamped(nil, with: id)
        else { return nil }
        let location = children[places].content
        // Versions 0 and 1 with 32-bit offsets and lengths, as written by heif-enc.
        guard location.count >= 8, location[0] <= 1, location[4] == 0x44, [0, 0x40].contains(location[5]) else {
            return nil
        }
        let item = 0x7FF0
        let entries = children[list].content
        if entries.indices.dropLast(3).contains(where: { text(entries, $0) == "Exif" }) {
            return restamped(bytes, at: location, item: item, id)
        }
        let entry = join([2, 0, 0, 1], big(item, 2), [0, 0], Array("Exif".utf8), [0])
        let itemCount = big(big(children[list].content, 4, 2) + 1, 2)
        children[list].content = replacing(4..<6, of: children[list].content, with: itemCount) + box("infe", entry)
        let data = box("mdat", [0, 0, 0, 0] + tiff)
        var place = join(big(item, 2), location[0] == 1 ? [0, 0] : [], [0, 0])
        // A 32-bit base offset, if the box has base offsets.
        place += join([UInt8](repeating: 0, count: Int(location[5] >> 4)), big(1, 2))
        place += join(big(bytes.count + 8, 4), big(tiff.count + 4, 4))
        children[places].content =
            replacing(6..<8, of: location, with: big(big(location, 6, 2) + 1, 2)) + place
        let describes = box("cdsc", join(big(item, 2), big(1, 2), Array(primary[4..<6])))
        if let index = children.firstIndex(where: { $0.type == "iref" }) {
            children[index].content += describes
        } else {
            children.append(("iref", [0, 0, 0, 0] + describes))
        }
        let content = children.reduce(into: [0, 0, 0, 0] as [UInt8]) { $0 += box($1.type, $1.content) }
        let emptied = replacing(
            (meta.content.lowerBound - 4)..<meta.content.lowerBound,
            of: bytes,
            with: Array("free".utf8)
        )
        return join(emptied, data, box("meta", content))
    }

    /// Replaces the ID in an item that `heif` has added; nil for other items.
    private static func restamped(_ bytes: [UInt8], at location: [UInt8], item: Int, _ id: String) -> [UInt8]? {
        // The last location: item, construction method (only in version 1), data reference, base, count, offset,
        // length.
        let size = 6 + (location[0] == 1 ? 2 : 0) + Int(location[5] >> 4) + 8
        guard location.count >= 8 + size, big(location, location.count - size, 2) == item,
            let plain = TIFF.stamped(nil, with: id)
        else { return nil }
        let start = big(location, location.count - 8, 4) + 4
        let range = start..<(start + plain.count)
        guard range.upperBound <= bytes.count else { return nil }
        return replacing(range, of: bytes, with: plain)
    }

    private static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        join(big(content.count + 8, 4), Array(type.utf8), content)
    }

    /// Nil unless the boxes fill the range.
    private static func boxes(_ bytes: [UInt8], _ range: Range<Int>) -> [(type: String, content: Range<Int>)]? {
        var found: [(type: String, content: Range<Int>)] = []
        var offset = range.lowerBound
        while offset + 8 <= range.upperBound {
            let size = big(bytes, offset, 4)
            guard size >= 8, offset + size <= range.upperBound else { return nil }
            found.append((text(bytes, offset + 4), (offset + 8)..<(offset + size)))
            offset += size
        }
        return offset == range.upperBound ? found : nil
    }

    private static func replacing(_ range: Range<Int>, of bytes: [UInt8], with new: [UInt8]) -> [UInt8] {
        join(Array(bytes[..<range.lowerBound]), new, Array(bytes[range.upperBound...]))
    }

    static func join(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }

    private static func text(_ bytes: [UInt8], _ offset: Int) -> String {
        String(decoding: bytes[offset..<(offset + 4)], as: UTF8.self)
    }

    static func big(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> Int {
        bytes[offset..<(offset + count)].reduce(0) { $0 << 8 | Int($1) }
    }

    static func big(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    private static func little(_ bytes: [UInt8], _ offset: Int, _ count: Int) -> Int {
        bytes[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    private static func little(_ value: Int, _ count: Int) -> [UInt8] { big(value, count).reversed() }
}
