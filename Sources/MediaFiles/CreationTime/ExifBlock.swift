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
