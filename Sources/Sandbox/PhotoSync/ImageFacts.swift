import Foundation

/// What a JPEG file says about itself: its size and when it was taken.
struct ImageFacts: Equatable {
    struct Size: Sendable, Equatable {
        var width: Int
        var height: Int
    }

    /// After rotation.
    var size: Size?
    /// Nil when there is no EXIF date.
    var takenAt: GoTime?

    /// Reads the first 128 KiB; other formats have no facts.
    init(fileAt path: String) {
        guard let file = FileHandle(forReadingAtPath: path) else { return }
        defer { try? file.close() }
        read([UInt8]((try? file.read(upToCount: 128 * 1024)) ?? Data()))
    }

    /// Walks the segments up to the picture (ITU-T T.81 annex B).
    private mutating func read(_ bytes: [UInt8]) {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return }
        var exif = EXIFFacts()
        var offset = 2
        while offset + 4 <= bytes.count, bytes[offset] == 0xFF {
            let marker = bytes[offset + 1]
            let length = Int(bytes[offset + 2]) << 8 | Int(bytes[offset + 3])
            guard length >= 2, offset + 2 + length <= bytes.count else { return }
            let segment = bytes[offset + 4..<offset + 2 + length]
            switch marker {
            case 0xE1: exif = EXIFFacts(Array(segment))
            // SOF0 to SOF15, without DHT, JPG and DAC.
            case 0xC0...0xCF where ![0xC4, 0xC8, 0xCC].contains(marker):
                guard segment.count >= 5 else { return }
                let numbers = Array(segment)
                let height = Int(numbers[1]) << 8 | Int(numbers[2])
                let width = Int(numbers[3]) << 8 | Int(numbers[4])
                size = exif.isTurned ? Size(width: height, height: width) : Size(width: width, height: height)
                takenAt = exif.takenAt
                return
            default: break
            }
            offset += 2 + length
        }
        takenAt = exif.takenAt
    }
}

/// Orientation and date of an EXIF segment (CIPA DC-008).
private struct EXIFFacts {
    /// Whether width and height change places.
    var isTurned = false
    var takenAt: GoTime?

    init() {}

    init(_ segment: [UInt8]) {
        guard segment.starts(with: Array("Exif\0\0".utf8)) else { return }
        let tiff = TIFF(bytes: Array(segment.dropFirst(6)))
        guard let first = tiff.number(at: 4, width: 4) else { return }
        isTurned = (5...8).contains(tiff.value(of: 0x0112, inDirectoryAt: first, width: 2) ?? 1)
        guard let directory = tiff.value(of: 0x8769, inDirectoryAt: first, width: 4),
            let date = tiff.value(of: 0x9003, inDirectoryAt: directory, width: 4)
        else { return }
        takenAt = tiff.date(at: date)
    }

    private struct TIFF {
        let bytes: [UInt8]

        func number(at offset: Int, width: Int) -> Int? {
            guard offset >= 0, offset + width <= bytes.count else { return nil }
            let digits = bytes[offset..<offset + width]
            let isLittleEndian = bytes.first == UInt8(ascii: "I")
            return (isLittleEndian ? digits.reversed() : Array(digits)).reduce(0) { $0 << 8 | Int($1) }
        }

        /// A tag's value or, for long ones, its offset.
        func value(of tag: Int, inDirectoryAt start: Int, width: Int) -> Int? {
            for index in 0..<(number(at: start, width: 2) ?? 0) {
                let entry = start + 2 + index * 12
                if number(at: entry, width: 2) == tag { return number(at: entry + 8, width: width) }
            }
            return nil
        }

        /// `YYYY:MM:DD HH:MM:SS`, the camera's wall clock, taken for UTC.
        func date(at offset: Int) -> GoTime? {
            guard offset >= 0, offset + 19 <= bytes.count else { return nil }
            let text = String(decoding: bytes[offset..<offset + 19], as: UTF8.self)
            return GoTime(text.prefix(10).replacing(":", with: "-") + "T" + text.suffix(8) + "Z")
        }
    }
}
