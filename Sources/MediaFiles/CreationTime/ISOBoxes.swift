/// The boxes of ISO/IEC 14496-12 section 4.2, as MP4, QuickTime and HEIF have them.
enum ISOBoxes {
    /// Where the content of a box lies.
    struct Span {
        var start: Int64
        var end: Int64

        /// What is left of it behind so many bytes; nil when there are not so many.
        func dropping(_ count: Int64) -> Span? {
            end - start >= count ? Span(start: start + count, end: end) : nil
        }
    }

    /// The first box of a type.
    static func first(_ type: String, in parent: Span, of content: inout BoundedContent) -> Span? {
        var start = parent.start
        while let box = box(at: start, before: parent.end, of: &content) {
            if box.type == type { return box.content }
            start = box.content.end
        }
        return nil
    }

    /// The box that begins at a place; the next one begins where its content ends. Goes from box to box by their sizes, so
    /// that gigabytes of media data cost one read.
    static func box(
        at start: Int64,
        before end: Int64,
        of content: inout BoundedContent
    ) -> (type: String, content: Span)? {
        guard let header = content.bytes(at: start, count: 8), let shortSize = header.bigEndian(at: 0, count: 4) else {
            return nil
        }
        var headerCount: Int64 = 8
        var size = Int64(shortSize)
        if shortSize == 0 {
            // The last box of the file.
            size = end - start
        } else if shortSize == 1 {
            guard let long = content.bytes(at: start + 8, count: 8)?.bigEndian(at: 0, count: 8) else { return nil }
            headerCount = 16
            size = Int64(clamping: long)
        }
        guard size >= headerCount, size <= end - start else { return nil }
        return (header.fourCharacters(at: 4), Span(start: start + headerCount, end: start + size))
    }
}
