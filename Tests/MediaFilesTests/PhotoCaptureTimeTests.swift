import Foundation
import MediaFiles
import TestSupport
import Testing

/// Photos built byte by byte from the specifications of TIFF 6.0, Exif 2.32, JPEG, PNG, WebP and HEIF.
@Suite struct PhotoCaptureTimeTests {
    /// `date -u -d 2024-03-01T20:15:07Z +%s`
    static let moment: Int64 = 1_709_324_107
    static let original = Tag.text(0x9003, "2024:03:01 20:15:07")

    /// The content of the Exif directory, and its meaning.
    static let directories: [(what: String, tags: [Tag], expected: Int64?)] = [
        ("a local time is unchanged", [original], moment * 1_000_000),
        ("an offset makes it UTC", [original, .text(0x9011, "+02:00")], (moment - 7_200) * 1_000_000),
        ("an offset to the west", [original, .text(0x9011, "-03:30")], (moment + 12_600) * 1_000_000),
        ("UTC itself", [original, .text(0x9011, "Z")], moment * 1_000_000),
        ("an unknown offset is blank", [original, .text(0x9011, "   :  ")], moment * 1_000_000),
        ("no time zone has such an offset", [original, .text(0x9011, "+15:00")], moment * 1_000_000),
        ("an offset without colon", [original, .text(0x9011, "+0200")], moment * 1_000_000),
        ("a fraction", [original, .text(0x9291, "25")], moment * 1_000_000 + 250_000),
        ("a fraction of one digit", [original, .text(0x9291, "7")], moment * 1_000_000 + 700_000),
        ("more digits than microseconds", [original, .text(0x9291, "1234569")], moment * 1_000_000 + 123_456),
        ("a blank fraction", [original, .text(0x9291, "   ")], moment * 1_000_000),
        (
            "offset and fraction", [original, .text(0x9011, "+01:00"), .text(0x9291, "5")],
            (moment - 3_600) * 1_000_000 + 500_000
        ),
        ("the day it was scanned", [.text(0x9004, "2024:03:01 20:15:07")], moment * 1_000_000),
        (
            "each date has its own offset",
            [.text(0x9004, "2024:03:01 20:15:07"), .text(0x9011, "+02:00"), .text(0x9012, "+01:00")],
            (moment - 3_600) * 1_000_000
        ),
        ("date taken before date scanned", [.text(0x9004, "2025:01:01 00:00:00"), original], moment * 1_000_000),
        (
            "an impossible date is skipped",
            [.text(0x9003, "0000:00:00 00:00:00"), .text(0x9004, "2024:03:01 20:15:07")], moment * 1_000_000
        ),
        ("never set", [.text(0x9003, "0000:00:00 00:00:00")], nil),
        ("blank", [.text(0x9003, "    :  :     :  :  ")], nil),
        ("year 0", [.text(0x9003, "0000:01:01 00:00:00")], nil),
        ("month 13", [.text(0x9003, "2024:13:01 00:00:00")], nil),
        ("30 February", [.text(0x9003, "2024:02:30 00:00:00")], nil),
        ("29 February 2023", [.text(0x9003, "2023:02:29 00:00:00")], nil),
        // date -u -d 2024-02-29T00:00:00Z +%s
        ("29 February 2024", [.text(0x9003, "2024:02:29 00:00:00")], 1_709_164_800_000_000),
        ("hour 24", [.text(0x9003, "2024:03:01 24:00:00")], nil),
        ("a date alone", [.text(0x9003, "2024:03:01")], nil),
        ("hyphens", [.text(0x9003, "2024-03-01T20:15:07")], moment * 1_000_000),
        // date -u -d 1965-07-01T12:00:00Z +%s
        ("before 1970", [.text(0x9003, "1965:07:01 12:00:00")], -142_084_800_000_000),
        // date -u -d 2107-01-01T00:00:00Z +%s
        ("after 2100", [.text(0x9003, "2107:01:01 00:00:00")], 4_323_283_200_000_000),
        ("another type", [Tag(0x9003, type: 3, value: Array("2024:03:01 20:15:07\0".utf8))], nil),
        ("nothing", [], nil),
    ]

    @Test(arguments: directories)
    func datesOfTheExifDirectory(what: String, tags: [Tag], expected: Int64?) throws {
        #expect(try capture(jpeg(tiff(exif: tags))) == expected, "\(what)")
        #expect(try capture(jpeg(tiff(exif: tags, isLittleEndian: false))) == expected, "\(what), big-endian")
    }

    @Test func theDateOfTheFirstDirectoryIsTheLastResort() throws {
        let changed = Tag.text(0x0132, "2024:03:01 20:15:07")
        #expect(try capture(jpeg(tiff(first: [changed], exif: []))) == Self.moment * 1_000_000)
        let taken = Tag.text(0x9003, "2020:01:01 00:00:00")
        // date -u -d 2020-01-01T00:00:00Z +%s
        #expect(try capture(jpeg(tiff(first: [changed], exif: [taken]))) == 1_577_836_800_000_000)
    }

    static let data = tiff(exif: [original])

    static let files: [(what: String, bytes: [UInt8], isFound: Bool)] = [
        ("JPEG", jpeg(data), true),
        (
            "JPEG, after JFIF and XMP",
            jpeg(data, before: segment(0xE0, zeros(14)) + segment(0xE1, Array("http://ns\0".utf8))), true
        ),
        ("JPEG, after fill bytes", [0xFF, 0xD8, 0xFF, 0xFF, 0xFF] + jpeg(data).dropFirst(3), true),
        ("JPEG, after the image data", [0xFF, 0xD8, 0xFF, 0xDA, 0, 2] + jpeg(data).dropFirst(2), false),
        ("JPEG, segment beyond the file", [0xFF, 0xD8, 0xFF, 0xE1, 0xFF, 0xFF] + Array("Exif\0\0".utf8) + data, false),
        (
            "PNG", png(chunk("IHDR", zeros(13)) + chunk("eXIf", data) + chunk("IDAT", zeros(50)) + chunk("IEND", [])),
            true
        ),
        (
            "PNG, after the image data",
            png(chunk("IDAT", zeros(50)) + chunk("IDAT", zeros(9)) + chunk("eXIf", data) + chunk("IEND", [])), true
        ),
        ("PNG, after the end", png(chunk("IEND", []) + chunk("eXIf", data)), false),
        ("PNG without", png(chunk("IHDR", zeros(13)) + chunk("IEND", [])), false),
        ("WebP", webP(riffChunk("VP8X", zeros(10)) + riffChunk("VP8 ", zeros(21)) + riffChunk("EXIF", data)), true),
        (
            "WebP with JPEG's identifier",
            webP(riffChunk("VP8 ", zeros(20)) + riffChunk("EXIF", Array("Exif\0\0".utf8) + data)), true
        ),
        ("WebP without", webP(riffChunk("VP8 ", zeros(20))), false),
        ("HEIF", heif(data), true),
        ("HEIF, identifier before the data", heif(Array("Exif\0\0".utf8) + data, skipped: 6), true),
        ("HEIF, 32-bit item numbers", heif(data, infeVersion: 3, ilocVersion: 2), true),
        ("HEIF, first version of locations", heif(data, ilocVersion: 0), true),
        ("HEIF, data among the boxes", heif(data, isInItemData: true), true),
        ("HEIF, skipping beyond the data", heif(data, skipped: 100_000), false),
        ("HEIF without Exif", heif(data, type: "mime"), false),
        ("GIF", Array("GIF89a".utf8) + zeros(50), false),
        ("text", Array("not an image".utf8), false),
        ("one byte", [0xFF], false),
    ]

    @Test(arguments: files)
    func formats(what: String, bytes: [UInt8], isFound: Bool) throws {
        #expect(try capture(bytes) == (isFound ? Self.moment * 1_000_000 : nil), "\(what)")
    }

    /// Hostile structures: parsing each of them terminates and reads few bytes.
    @Test func directoriesThatPointAtThemselvesTerminate() throws {
        // The Exif directory is the first directory again.
        var loop = tiff(first: [Tag(0x8769, type: 4, number: 8)], exif: nil)
        #expect(try capture(jpeg(loop)) == nil)
        // More entries than bytes.
        loop[8] = 0xFF
        loop[9] = 0xFF
        #expect(try capture(jpeg(loop)) == nil)
        let farAway = Tag(0x9003, type: 2, count: 20, number: 0xFFFF_FFF0)
        #expect(try capture(jpeg(tiff(exif: [farAway]))) == nil)
        let endless = Tag(0x9003, type: 2, count: 0xFFFF_FFFF, number: 8)
        #expect(try capture(jpeg(tiff(exif: [endless]))) == nil)
    }

    @Test(arguments: ["jpeg", "png", "webp", "heif"])
    func aFileTruncatedAnywhereIsParsedWithoutErrors(format: String) throws {
        let whole =
            switch format {
            case "jpeg": Self.jpegWithImage
            case "png": png(chunk("eXIf", Self.data) + chunk("IEND", []))
            case "webp": webP(riffChunk("EXIF", Self.data))
            default: heif(Self.data)
            }
        let directory = try TemporaryDirectory()
        for length in 1..<whole.count {
            let found = try capture(Array(whole[..<length]), in: directory)
            #expect(found == nil || found == Self.moment * 1_000_000)
        }
        // Each byte in turn is set to the value most likely to break sizes and offsets.
        for position in whole.indices {
            var broken = whole
            broken[position] = 0xFF
            _ = try capture(broken, in: directory)
        }
        #expect(try capture(whole, in: directory) == Self.moment * 1_000_000)
    }

    static let jpegWithImage = jpeg(data) + [0xFF, 0xDA, 0, 2, 1, 2, 3, 0xFF, 0xD9]
}

/// The result of `PhotoExif` for a file with these bytes.
private func capture(_ bytes: [UInt8], in directory: TemporaryDirectory? = nil) throws -> Int64? {
    let directory = try directory ?? TemporaryDirectory()
    let path = try directory.write("photo", bytes)
    return PhotoExif(of: try SourceFile(path: Array(path.utf8)))?.captureTime?.microseconds
}

/// An entry of a TIFF directory.
struct Tag: Sendable, CustomTestStringConvertible {
    var number: UInt16
    var type: UInt16
    var count: UInt32
    var value: [UInt8]?
    var inline: UInt32 = 0

    init(_ number: UInt16, type: UInt16, value: [UInt8]) {
        (self.number, self.type, self.count, self.value) = (number, type, UInt32(value.count), value)
    }

    init(_ tag: UInt16, type: UInt16, count: UInt32 = 1, number: UInt32) {
        (self.number, self.type, self.count, inline) = (tag, type, count, number)
    }

    static func text(_ number: UInt16, _ text: String) -> Tag {
        Tag(number, type: 2, value: Array(text.utf8) + [0])
    }

    var testDescription: String { String(number, radix: 16) }
}

/// A TIFF structure of a first directory and, unless nil, an Exif directory.
private func tiff(first: [Tag] = [], exif: [Tag]?, isLittleEndian: Bool = true) -> [UInt8] {
    func bytes(_ value: UInt32, _ count: Int) -> [UInt8] {
        let big = (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
        return isLittleEndian ? big.reversed() : big
    }
    func directory(_ tags: [Tag], at start: Int) -> [UInt8] {
        var entries = bytes(UInt32(tags.count), 2)
        var values: [UInt8] = []
        let valuesStart = start + 2 + tags.count * 12 + 4
        for tag in tags {
            entries += bytes(UInt32(tag.number), 2) + bytes(UInt32(tag.type), 2) + bytes(tag.count, 4)
            if let value = tag.value {
                if value.count <= 4 {
                    entries += value + zeros(4 - value.count)
                } else {
                    entries += bytes(UInt32(valuesStart + values.count), 4)
                    values += value
                }
            } else {
                entries += bytes(tag.inline, 4)
            }
        }
        return entries + zeros(4) + values
    }
    let header: [UInt8] = isLittleEndian ? [0x49, 0x49, 0x2A, 0, 8, 0, 0, 0] : [0x4D, 0x4D, 0, 0x2A, 0, 0, 0, 8]
    guard let exif else { return header + directory(first, at: 8) }
    let pointerSize = directory(first + [Tag(0x8769, type: 4, number: 0)], at: 8).count
    let firstDirectory = directory(first + [Tag(0x8769, type: 4, number: UInt32(8 + pointerSize))], at: 8)
    return header + firstDirectory + directory(exif, at: 8 + pointerSize)
}

private func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }

private func big(_ value: Int, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
}

private func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
    [0xFF, marker] + big(content.count + 2, 2) + content
}

private func jpeg(_ tiff: [UInt8], before: [UInt8] = []) -> [UInt8] {
    [0xFF, 0xD8] + before + segment(0xE1, Array("Exif\0\0".utf8) + tiff)
}

private func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    big(content.count, 4) + Array(type.utf8) + content + zeros(4)
}

private func png(_ chunks: [UInt8]) -> [UInt8] { [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + chunks }

private func riffChunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
    Array(type.utf8) + big(content.count, 4).reversed() + content + zeros(content.count % 2)
}

private func webP(_ chunks: [UInt8]) -> [UInt8] {
    Array("RIFF".utf8) + big(chunks.count + 4, 4).reversed() + Array("WEBP".utf8) + chunks
}

private func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
    big(content.count + 8, 4) + Array(type.utf8) + content
}

/// A HEIF file with an image item and an item that contains `data` after a four-byte offset.
private func heif(
    _ data: [UInt8],
    type: String = "Exif",
    skipped: Int = 0,
    infeVersion: UInt8 = 2,
    ilocVersion: UInt8 = 1,
    isInItemData: Bool = false
) -> [UInt8] {
    let payload = big(skipped, 4) + data
    let ftyp = box("ftyp", Array("heic".utf8) + zeros(4) + Array("mif1".utf8))
    func infe(_ item: Int, _ type: String) -> [UInt8] {
        box("infe", [infeVersion, 0, 0, 0] + big(item, infeVersion == 2 ? 2 : 4) + zeros(2) + Array(type.utf8) + [0])
    }
    let iinf = box("iinf", zeros(4) + big(2, 2) + infe(1, "hvc1") + infe(2, type))
    func iloc(_ offset: Int) -> [UInt8] {
        func item(_ item: Int, _ offset: Int, _ length: Int, _ method: Int) -> [UInt8] {
            big(item, ilocVersion < 2 ? 2 : 4) + (ilocVersion == 0 ? [] : big(method, 2)) + zeros(2) + big(1, 2)
                + big(offset, 4) + big(length, 4)
        }
        return box(
            "iloc",
            [ilocVersion, 0, 0, 0, 0x44, 0x00] + big(2, ilocVersion < 2 ? 2 : 4) + item(1, 16, 8, 0)
                + item(2, offset, payload.count, isInItemData ? 1 : 0)
        )
    }
    func meta(_ offset: Int) -> [UInt8] {
        let idat = isInItemData ? box("idat", payload) : []
        return box("meta", zeros(4) + box("hdlr", zeros(20)) + iinf + iloc(offset) + idat)
    }
    guard !isInItemData else { return ftyp + meta(0) }
    let offset = ftyp.count + meta(0).count + 8
    return ftyp + meta(offset) + box("mdat", payload)
}
