/// The movie header of ISO/IEC 14496-12 section 8.2.2 and of the QuickTime file format.
enum MovieHeaderDate {
    /// From 1904-01-01 to 1970-01-01, in seconds.
    private static let epochOffset: Int64 = 2_082_844_800

    static func seconds(in content: inout BoundedContent) -> Int64? {
        let file = Span(start: 0, end: content.count)
        guard let movie = firstBox("moov", in: file, of: &content),
            let header = firstBox("mvhd", in: movie, of: &content),
            // Version and flags, then the creation time.
            let fields = content.bytes(at: header.start, count: 12), header.end - header.start >= 12
        else { return nil }
        let time = fields[0] == 0 ? fields.bigEndian(at: 4, count: 4) : fields.bigEndian(at: 4, count: 8)
        return time.flatMap(Int64.init(exactly:)).map { $0 - epochOffset }
    }

    /// Where the content of a box lies.
    private struct Span {
        var start: Int64
        var end: Int64
    }

    /// Goes from box to box by their sizes, so that gigabytes of media data cost one read.
    private static func firstBox(_ type: String, in parent: Span, of content: inout BoundedContent) -> Span? {
        var start = parent.start
        while let header = content.bytes(at: start, count: 8), let shortSize = header.bigEndian(at: 0, count: 4) {
            var headerCount: Int64 = 8
            var size = Int64(shortSize)
            if shortSize == 0 {
                // The last box of the file.
                size = parent.end - start
            } else if shortSize == 1 {
                guard let long = content.bytes(at: start + 8, count: 8)?.bigEndian(at: 0, count: 8) else { return nil }
                headerCount = 16
                size = Int64(clamping: long)
            }
            guard size >= headerCount, size <= parent.end - start else { return nil }
            let end = start + size
            if header.fourCharacters(at: 4) == type { return Span(start: start + headerCount, end: end) }
            start = end
        }
        return nil
    }
}
