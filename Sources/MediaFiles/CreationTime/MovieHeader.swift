/// The movie header defined in ISO/IEC 14496-12 section 8.2.2 and in the QuickTime file format.
enum MovieHeader {
    /// Whether a file that starts with these bytes may have a movie header.
    static func isPossible(after start: [UInt8]) -> Bool {
        ["ftyp", "moov", "mdat", "wide", "free", "skip", "pnot"].contains(start.fourCharacters(at: 4))
    }

    /// The first movie in a file, and its header.
    static func find(in content: BoundedContent) -> (movie: Span, header: Span)? {
        guard let movie = content.box("moov", in: content.whole), let header = content.box("mvhd", in: movie) else {
            return nil
        }
        return (movie, header)
    }
}

/// The creation time in a movie header.
enum MovieHeaderDate {
    /// From 1904-01-01 to 1970-01-01, in seconds.
    private static let epochOffset: Int64 = 2_082_844_800

    static func seconds(in content: BoundedContent) -> Int64? {
        guard let header = MovieHeader.find(in: content)?.header,
            // Version and flags, then the creation time.
            let fields = content.bytes(at: header.start, count: 12), header.count >= 12
        else { return nil }
        let time = fields[0] == 0 ? fields.bigEndian(at: 4, count: 4) : fields.bigEndian(at: 4, count: 8)
        return time.flatMap(Int64.init(exactly:)).map { $0 - epochOffset }
    }
}

/// A box as defined in ISO/IEC 14496-12 section 4.2, the format of MP4, QuickTime and HEIF.
struct ISOBox {
    var type: String
    /// The type as a number, for types that are not ASCII.
    var code: UInt32
    /// The next box begins where the content ends.
    var content: Span
}

extension BoundedContent {
    /// The boxes in a range, up to an invalid one. Each is read when it is requested.
    func boxes(in parent: Span) -> some Sequence<ISOBox> {
        sequence(state: parent.start) { start in
            guard let box = self.box(at: start, before: parent.end) else { return nil }
            start = box.content.end
            return box
        }
    }

    /// The content of the first box of a type in a range.
    func box(_ type: String, in parent: Span) -> Span? { boxes(in: parent).first { $0.type == type }?.content }

    /// The box at an offset. The size of a box is used to skip it, so gigabytes of media data cost only one read.
    func box(at start: Int64, before end: Int64) -> ISOBox? {
        guard let header = bytes(at: start, count: 8), let shortSize = header.bigEndian(at: 0, count: 4) else {
            return nil
        }
        var headerCount: Int64 = 8
        var size = Int64(shortSize)
        if shortSize == 0 {
            // The last box in the file.
            size = end - start
        } else if shortSize == 1 {
            guard let long = bigEndian(at: start + 8, count: 8) else { return nil }
            headerCount = 16
            size = Int64(clamping: long)
        }
        guard size >= headerCount, size <= end - start else { return nil }
        return ISOBox(
            type: header.fourCharacters(at: 4),
            code: header.bigEndian(at: 4, count: 4).map(UInt32.init(truncatingIfNeeded:)) ?? 0,
            content: Span(start: start + headerCount, end: start + size)
        )
    }
}
