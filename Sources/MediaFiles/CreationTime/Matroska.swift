internal import MediaCore

/// The elements of EBML (RFC 8794), the format of Matroska and WebM.
enum EBMLElements {
    /// The `Info` of the first segment of a Matroska file (RFC 9559 section 5.1.2).
    static func matroskaInfo(in content: BoundedContent) -> Span? {
        first(0x1853_8067, in: content.whole, of: content)
            .flatMap { first(0x1549_A966, in: $0, of: content) }
    }

    static func first(_ wanted: UInt64, in parent: Span, of content: BoundedContent) -> Span? {
        var start = parent.start
        while let header = header(at: start, before: parent.end, of: content) {
            let contentStart = start + header.byteCount
            // In a live recording, an element of unknown size extends to the end of its parent. Only the required
            // element may have an unknown size.
            if header.identifier == wanted {
                let count = min(header.size ?? .max, parent.end - contentStart)
                return Span(start: contentStart, end: contentStart + count)
            }
            guard let size = header.size, size <= parent.end - contentStart else { return nil }
            start = contentStart + size
        }
        return nil
    }

    private struct Header {
        var identifier: UInt64
        /// Length of the content; nil if unknown.
        var size: Int64?
        /// Length of the header itself.
        var byteCount: Int64
    }

    /// RFC 8794 sections 4 to 6: the number of leading zeros of each first byte is the number of following bytes.
    private static func header(at start: Int64, before end: Int64, of content: BoundedContent) -> Header? {
        let longest = min(12, end - start)
        guard longest >= 2, let bytes = content.bytes(at: start, count: Int(longest)) else { return nil }
        let identifierCount = bytes[0].leadingZeroBitCount + 1
        guard identifierCount <= 4, identifierCount < bytes.count,
            let identifier = bytes.bigEndian(at: 0, count: identifierCount)
        else { return nil }
        let sizeCount = bytes[identifierCount].leadingZeroBitCount + 1
        guard sizeCount <= 8, let marked = bytes.bigEndian(at: identifierCount, count: sizeCount) else { return nil }
        let mask: UInt64 = (1 << UInt64(7 * sizeCount)) - 1
        let size = marked & mask
        return Header(
            identifier: identifier,
            size: size == mask ? nil : Int64(size),
            byteCount: Int64(identifierCount + sizeCount)
        )
    }
}

/// `DateUTC` in Matroska and WebM (RFC 9559 section 5.1.2).
enum MatroskaDate {
    /// From 1970-01-01 to 2001-01-01, in seconds.
    private static let epochOffset: Int64 = 978_307_200

    private static let date: UInt64 = 0x4461

    static func seconds(in content: BoundedContent) -> Int64? {
        guard let info = EBMLElements.matroskaInfo(in: content),
            let date = EBMLElements.first(date, in: info, of: content), date.count == 8,
            let nanoseconds = content.bigEndian(at: date.start, count: 8)
        else { return nil }
        return Int64(bitPattern: nanoseconds).flooredDivision(by: 1_000_000_000).quotient + epochOffset
    }
}
