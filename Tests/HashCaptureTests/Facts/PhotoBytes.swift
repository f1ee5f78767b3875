/// Photos of a few bytes, built from the specifications of TIFF 6.0, Exif 2.32, JPEG, PNG and HEIF.
enum PhotoBytes {
    /// One entry of a directory.
    struct Entry {
        var tag: Int
        var type: Int
        var count: Int
        var value: [UInt8]

        static func text(_ tag: Int, _ text: String) -> Entry { raw(tag, Array(text.utf8) + [0]) }

        static func raw(_ tag: Int, _ bytes: [UInt8]) -> Entry {
            Entry(tag: tag, type: 2, count: bytes.count, value: bytes)
        }

        /// Numerators and denominators.
        static func fractions(_ tag: Int, _ parts: [(Int, Int)]) -> Entry {
            Entry(tag: tag, type: 5, count: parts.count, value: parts.flatMap { little($0.0, 4) + little($0.1, 4) })
        }
    }

    /// A little-endian TIFF structure with a first directory and one each for Exif (0x8769) and GPS (0x8825).
    static func structure(first: [Entry] = [], exif: [Entry] = [], gps: [Entry] = []) -> [UInt8] {
        let pointers = [(0x8769, exif), (0x8825, gps)].filter { !$0.1.isEmpty }
        var offset = 8 + directory(first + pointers.map { pointer($0.0, 0) }, at: 8).count
        var entries = first
        var rest: [UInt8] = []
        for (tag, inner) in pointers {
            entries.append(pointer(tag, offset))
            let bytes = directory(inner, at: offset)
            rest += bytes
            offset += bytes.count
        }
        return [0x49, 0x49, 0x2A, 0] + little(8, 4) + directory(entries, at: 8) + rest
    }

    private static func pointer(_ tag: Int, _ offset: Int) -> Entry {
        Entry(tag: tag, type: 4, count: 1, value: little(offset, 4))
    }

    private static func directory(_ entries: [Entry], at offset: Int) -> [UInt8] {
        var table = little(entries.count, 2)
        var values: [UInt8] = []
        let valuesOffset = offset + 2 + entries.count * 12 + 4
        for entry in entries.sorted(by: { $0.tag < $1.tag }) {
            table += little(entry.tag, 2) + little(entry.type, 2) + little(entry.count, 4)
            if entry.value.count <= 4 {
                table += entry.value + [UInt8](repeating: 0, count: 4 - entry.value.count)
            } else {
                table += little(valuesOffset + values.count, 4)
                values += entry.value
            }
        }
        return table + little(0, 4) + values
    }

    static func jpeg(_ structure: [UInt8]?) -> [UInt8] {
        let segment = structure.map { [0xFF, 0xE1] + big($0.count + 8, 2) + Array("Exif\0\0".utf8) + $0 } ?? []
        let scan: [UInt8] = [0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x3F]
        return [0xFF, 0xD8] + segment + scan + [0xFF, 0xD9]
    }

    /// Without checksums, which are not verified here.
    static func png(_ structure: [UInt8]) -> [UInt8] {
        func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
            big(content.count, 4) + Array(type.utf8) + content + big(0, 4)
        }
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", big(1, 4) + big(1, 4) + [8, 0, 0, 0, 0]) + chunk("eXIf", structure) + chunk("IEND", [])
    }

    /// A HEIC file whose only item is its Exif data.
    static func heic(_ structure: [UInt8]) -> [UInt8] {
        func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
            big(content.count + 8, 4) + Array(type.utf8) + content
        }
        let payload = big(0, 4) + structure
        let type = box("ftyp", Array("heic\0\0\0\0mif1heic".utf8))
        let entry = box("infe", [2, 0, 0, 0] + big(1, 2) + big(0, 2) + Array("Exif\0".utf8))
        func meta(_ offset: Int) -> [UInt8] {
            let handler = box("hdlr", big(0, 8) + Array("pict".utf8) + big(0, 8) + big(0, 5))
            let places = [0, 0, 0, 0, 0x44, 0] + big(1, 2) + big(1, 2) + big(0, 2) + big(1, 2)
            return box(
                "meta",
                big(0, 4) + handler + box("iinf", big(0, 4) + big(1, 2) + entry)
                    + box("iloc", places + big(offset, 4) + big(payload.count, 4))
            )
        }
        return type + meta(type.count + meta(0).count + 8) + box("mdat", payload)
    }

    private static func little(_ value: Int, _ count: Int) -> [UInt8] { big(value, count).reversed() }

    private static func big(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> ($0 * 8)) : 0 }
    }
}
