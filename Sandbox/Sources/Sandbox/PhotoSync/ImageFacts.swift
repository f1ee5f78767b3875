import Foundation

/// Size and capture time in a JPEG file.
struct ImageFacts: Equatable {
    struct Size: Sendable, Equatable {
        var width: Int
        var height: Int
    }

    var size: Size?
    var takenAt: Timestamp?

    /// Reads the first 128 KiB; both values are nil for formats other than JPEG.
    init(fileAt path: String) {
        guard let bytes = try? OpenFile(path, O_RDONLY).read(at: 0, count: 128 * 1024),
            let segments = JPEG.segments(bytes, isWhole: false)
        else { return }
        let exif = segments.last(where: { JPEG.isExif($0, bytes) }).map { TIFF(Array(bytes[$0.content].dropFirst(6))) }
        takenAt = exif?.takenAt
        // SOF0 to SOF15, except DHT, JPG and DAC.
        let frame = segments.first { (0xC0...0xCF).contains($0.marker) && ![0xC4, 0xC8, 0xCC].contains($0.marker) }?
            .content
        guard let frame, frame.count >= 5 else { return }
        let sides = [3, 1].map { PhotoStamper.big(bytes, frame.lowerBound + $0, 2) }
        size =
            exif?.isTurned == true ? Size(width: sides[1], height: sides[0]) : Size(width: sides[0], height: sides[1])
    }
}

/// The segments of a JPEG file (ITU-T T.81 annex B).
enum JPEG {
    typealias Segment = (marker: UInt8, content: Range<Int>)

    static let exif = Array("Exif\0\0".utf8)

    /// The segments before the image data; nil for other formats and, if `isWhole`, for a truncated segment.
    static func segments(_ bytes: [UInt8], isWhole: Bool = true) -> [Segment]? {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        var segments: [Segment] = []
        var offset = 2
        while offset + 4 <= bytes.count, bytes[offset] == 0xFF, bytes[offset + 1] >= 0xC0, bytes[offset + 1] != 0xDA {
            let end = offset + 2 + PhotoStamper.big(bytes, offset + 2, 2)
            guard end <= bytes.count, end >= offset + 4 else { return isWhole ? nil : segments }
            segments.append((bytes[offset + 1], offset + 4..<end))
            offset = end
        }
        return segments
    }

    static func isExif(_ segment: Segment, _ bytes: [UInt8]) -> Bool {
        segment.marker == 0xE1 && bytes[segment.content].starts(with: exif)
    }
}

/// A TIFF structure (Exif 2.32 section 4.6).
struct TIFF {
    private var bytes: [UInt8]
    private let isLittle: Bool

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
        isLittle = bytes.first == UInt8(ascii: "I")
    }

    /// The entries of a directory, and the offset of the next one.
    private typealias Directory = (entries: [[UInt8]], next: [UInt8])

    private func number(_ offset: Int, _ count: Int) -> Int? {
        guard offset >= 0, offset + count <= bytes.count else { return nil }
        let digits = Array(bytes[offset..<offset + count])
        return PhotoStamper.big(isLittle ? digits.reversed() : digits, 0, count)
    }

    private func directory(at offset: Int?) -> Directory? {
        guard let offset, let count = number(offset, 2), offset + 6 + count * 12 <= bytes.count else { return nil }
        let start = offset + 2
        let entries = (0..<count).map { Array(bytes[start + $0 * 12..<start + $0 * 12 + 12]) }
        return (entries, Array(bytes[start + count * 12..<start + count * 12 + 4]))
    }

    private func tag(_ entry: [UInt8]) -> Int { PhotoStamper.big(isLittle ? [entry[1], entry[0]] : entry, 0, 2) }

    /// The value of a tag, or its offset if it is long.
    private func value(of tag: Int, in directory: Directory?, _ width: Int = 4) -> Int? {
        guard let entry = directory?.entries.first(where: { self.tag($0) == tag }) else { return nil }
        let digits = Array(entry[8..<8 + width])
        return PhotoStamper.big(isLittle ? digits.reversed() : digits, 0, width)
    }

    var isTurned: Bool { (5...8).contains(value(of: 0x0112, in: directory(at: number(4, 4)), 2) ?? 1) }

    /// The local time of the camera, read as UTC.
    var takenAt: Timestamp? {
        let exif = directory(at: value(of: 0x8769, in: directory(at: number(4, 4))))
        guard let offset = value(of: 0x9003, in: exif), offset + 19 <= bytes.count else { return nil }
        let text = String(decoding: bytes[offset..<offset + 19], as: UTF8.self)
        return Timestamp(text.prefix(10).replacing(":", with: "-") + "T" + text.suffix(8) + "Z")
    }

    /// The old structure, or a new one, with `ImageUniqueID` in its Exif directory. Changed directories are appended.
    /// Nil if the old structure is invalid.
    static func stamped(_ old: [UInt8]?, with id: String) -> [UInt8]? {
        var tiff = TIFF(old ?? [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0])
        guard tiff.bytes.count >= 14, tiff.bytes[0] == tiff.bytes[1], let first = tiff.directory(at: tiff.number(4, 4))
        else {
            return nil
        }
        let exif = tiff.directory(at: tiff.value(of: 0x8769, in: first))
        let value = Array(id.utf8) + [0]
        let stamp = tiff.append(value)
        let entry = tiff.entry(0xA420, type: 2, count: value.count, stamp)
        let place = tiff.append(entry, to: exif ?? ([], [0, 0, 0, 0]))
        let start = tiff.append(tiff.entry(0x8769, type: 4, count: 1, place), to: first)
        tiff.bytes.replaceSubrange(4..<8, with: tiff.digits(start, 4))
        return tiff.bytes
    }

    private func digits(_ value: Int, _ count: Int) -> [UInt8] {
        isLittle ? PhotoStamper.big(value, count).reversed() : PhotoStamper.big(value, count)
    }

    private func entry(_ tag: Int, type: Int, count: Int, _ value: Int) -> [UInt8] {
        digits(tag, 2) + digits(type, 2) + digits(count, 4) + digits(value, 4)
    }

    private mutating func append(_ more: [UInt8]) -> Int {
        if bytes.count % 2 == 1 { bytes.append(0) }
        defer { bytes += more }
        return bytes.count
    }

    /// Appends a directory with one more entry, and returns its offset.
    private mutating func append(_ entry: [UInt8], to directory: Directory) -> Int {
        let entries = (directory.entries.filter { tag($0) != tag(entry) } + [entry]).sorted { tag($0) < tag($1) }
        return append(digits(entries.count, 2) + entries.joined() + directory.next)
    }
}
