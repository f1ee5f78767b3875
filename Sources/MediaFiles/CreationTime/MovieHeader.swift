/// The movie header defined in ISO/IEC 14496-12 section 8.2.2 and in the QuickTime file format.
enum MovieHeader {
    /// Whether a file that starts with these bytes may have a movie header.
    static func isPossible(after start: [UInt8]) -> Bool {
        ["ftyp", "moov", "mdat", "wide", "free", "skip", "pnot"].contains(start.fourCharacters(at: 4))
    }

    /// The first movie in a file, and its header.
    static func find(in content: inout BoundedContent) -> (movie: Span, header: Span)? {
        let file = Span(start: 0, end: content.count)
        guard let movie = ISOBoxes.first("moov", in: file, of: &content),
            let header = ISOBoxes.first("mvhd", in: movie, of: &content)
        else { return nil }
        return (movie, header)
    }
}

/// The creation time in a movie header.
enum MovieHeaderDate {
    /// From 1904-01-01 to 1970-01-01, in seconds.
    private static let epochOffset: Int64 = 2_082_844_800

    static func seconds(in content: inout BoundedContent) -> Int64? {
        guard let header = MovieHeader.find(in: &content)?.header,
            // Version and flags, then the creation time.
            let fields = content.bytes(at: header.start, count: 12), header.end - header.start >= 12
        else { return nil }
        let time = fields[0] == 0 ? fields.bigEndian(at: 4, count: 4) : fields.bigEndian(at: 4, count: 8)
        return time.flatMap(Int64.init(exactly:)).map { $0 - epochOffset }
    }
}

/// The boxes defined in ISO/IEC 14496-12 section 4.2, the format of MP4, QuickTime and HEIF.
enum ISOBoxes {
    static func first(_ type: String, in parent: Span, of content: inout BoundedContent) -> Span? {
        var start = parent.start
        while let box = box(at: start, before: parent.end, of: &content) {
            if box.type == type { return box.content }
            start = box.content.end
        }
        return nil
    }

    /// The box at an offset; the next one begins where its content ends. `code` is the type as a number, for types that
    /// are not ASCII. The size of a box is used to skip it, so gigabytes of media data cost only one read.
    static func box(
        at start: Int64,
        before end: Int64,
        of content: inout BoundedContent
    ) -> (type: String, code: UInt32, content: Span)? {
        guard let header = content.bytes(at: start, count: 8), let shortSize = header.bigEndian(at: 0, count: 4) else {
            return nil
        }
        var headerCount: Int64 = 8
        var size = Int64(shortSize)
        if shortSize == 0 {
            // The last box in the file.
            size = end - start
        } else if shortSize == 1 {
            guard let long = content.bytes(at: start + 8, count: 8)?.bigEndian(at: 0, count: 8) else { return nil }
            headerCount = 16
            size = Int64(clamping: long)
        }
        guard size >= headerCount, size <= end - start else { return nil }
        let code = header.bigEndian(at: 4, count: 4).map(UInt32.init(truncatingIfNeeded:)) ?? 0
        return (header.fourCharacters(at: 4), code, Span(start: start + headerCount, end: start + size))
    }
}
