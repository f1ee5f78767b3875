internal import MediaCore

/// The dates of an ID3v2.3 or ID3v2.4 tag at the start of a file (id3.org, "ID3v2.3.0", "ID3v2.4.0-structure" and
/// "-frames").
enum ID3Dates {
    static func seconds(in content: BoundedContent) -> Int64? {
        guard let tag = Tag(content) else { return nil }
        let texts = texts(of: tag)
        for frame in ["TDRC", "TDEN", "TDRL"] {
            if let seconds = texts[frame].flatMap(timestamp) { return seconds }
        }
        return dayAndYear(texts)
    }

    private static let wanted: Set<String> = ["TDRC", "TDEN", "TDRL", "TYER", "TDAT", "TIME"]

    /// The range of the frames, and their encoding.
    private struct Tag {
        /// The file, or the unescaped tag.
        var content: BoundedContent
        var version: UInt8
        var start: Int64
        var end: Int64

        init?(_ file: BoundedContent) {
            content = file
            guard let header = file.bytes(at: 0, count: 10), let size = header.synchsafe(at: 6),
                header[3] == 3 || header[3] == 4
            else { return nil }
            version = header[3]
            start = 10
            end = min(10 + size, file.count)
            // Version 3 escapes the whole tag, so its frame sizes refer to the unescaped data.
            if version == 3, header[5] & 0x80 != 0 {
                guard let escaped = file.bytes(at: 10, count: Int(min(end - 10, 65_536))) else { return nil }
                content = BoundedContent(escaped.withoutUnsynchronisation)
                start = 0
                end = content.count
            }
            guard header[5] & 0x40 != 0 else { return }
            guard let extended = content.bytes(at: start, count: 4),
                let count = version == 3
                    ? extended.bigEndian(at: 0, count: 4).map({ Int64($0) + 4 }) : extended.synchsafe(at: 0)
            else { return nil }
            start += count
        }
    }

    /// Uses the frame sizes to skip from frame to frame, so an image costs only one read.
    private static func texts(of tag: Tag) -> [String: [UInt8]] {
        var texts: [String: [UInt8]] = [:]
        var start = tag.start
        while start <= tag.end - 10, let header = tag.content.bytes(at: start, count: 10), header[0] != 0,
            let size = tag.version == 3
                ? header.bigEndian(at: 4, count: 4).map({ Int64($0) }) : header.synchsafe(at: 4),
            size <= tag.end - start - 10
        {
            let name = header.fourCharacters(at: 0)
            if wanted.contains(name), let frame = tag.content.bytes(at: start + 10, count: Int(min(size, 64))) {
                texts[name] = text(of: frame, flags: header[9], version: tag.version)
            }
            start += 10 + size
        }
        return texts
    }

    /// The first value in a text frame, as ASCII; nil if the frame is compressed or encrypted.
    private static func text(of frame: [UInt8], flags: UInt8, version: UInt8) -> [UInt8]? {
        var frame = frame
        if version == 3 {
            guard flags & 0xC0 == 0 else { return nil }
            if flags & 0x20 != 0 { frame.removeFirst(min(1, frame.count)) }
        } else {
            guard flags & 0x0C == 0 else { return nil }
            // Skip the group number and the unescaped length.
            frame.removeFirst(min((flags & 0x40 != 0 ? 1 : 0) + (flags & 0x01 != 0 ? 4 : 0), frame.count))
            if flags & 0x02 != 0 { frame = frame.withoutUnsynchronisation }
        }
        guard let encoding = frame.first else { return nil }
        let text = frame.dropFirst()
        switch encoding {
        case 0, 3: return Array(text.prefix { $0 != 0 })
        case 1, 2:
            // UTF-16; non-ASCII text is not a date.
            let isLittleEndian = text.starts(with: [0xFF, 0xFE])
            let units = isLittleEndian || text.starts(with: [0xFE, 0xFF]) ? text.dropFirst(2) : text
            let low = stride(from: units.startIndex + (isLittleEndian ? 0 : 1), to: units.endIndex, by: 2)
            return Array(low.map { units[$0] }.prefix { $0 != 0 })
        default: return nil
        }
    }

    /// `yyyy-MM-ddTHH:mm:ss` or a prefix of it, in UTC ("ID3v2.4.0-structure" section 4); encoders may add fractions
    /// and a `Z`.
    private static func timestamp(_ text: [UInt8]) -> Int64? {
        // A day without a time is noon; a text shorter than a day does not have these parts.
        guard text.count > 10 else { return CivilTime(text + "T12".utf8, at: [0, 5, 8, 11])?.localSecondsSince1970 }
        let end = text.dropFirst(19).first
        guard end == nil || end == UInt8(ascii: ".") || end == UInt8(ascii: "Z") else { return nil }
        let offsets = [0, 5, 8, 11, 14, 17].filter { $0 < 14 || $0 <= text.count }
        return CivilTime(text, at: offsets)?.secondsSince1970
    }

    /// Version 3: the year, `DDMM` and `HHMM` in separate frames.
    private static func dayAndYear(_ texts: [String: [UInt8]]) -> Int64? {
        guard let year = texts["TYER"], let date = texts["TDAT"] else { return nil }
        let time = texts["TIME"]
        return CivilTime(
            year: year.decimal(at: 0, count: 4),
            month: date.decimal(at: 2, count: 2),
            day: date.decimal(at: 0, count: 2),
            hour: time.map { $0.decimal(at: 0, count: 2) } ?? 12,
            minute: time.map { $0.decimal(at: 2, count: 2) } ?? 0,
            second: 0
        )?.localSecondsSince1970
    }
}

extension [UInt8] {
    /// Four bytes of seven bits each; nil if a top bit is set.
    fileprivate func synchsafe(at offset: Int) -> Int64? {
        guard offset + 4 <= count, self[offset..<offset + 4].allSatisfy({ $0 < 0x80 }) else { return nil }
        return self[offset..<offset + 4].reduce(0) { $0 << 7 | Int64($1) }
    }

    /// The bytes without the zeros that were inserted after each 0xFF.
    fileprivate var withoutUnsynchronisation: [UInt8] {
        var result: [UInt8] = []
        var afterAllOnes = false
        for byte in self {
            if !(afterAllOnes && byte == 0) { result.append(byte) }
            afterAllOnes = byte == 0xFF
        }
        return result
    }
}
