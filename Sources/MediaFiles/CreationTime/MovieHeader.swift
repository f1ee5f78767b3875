/// The movie header of ISO/IEC 14496-12 section 8.2.2 and of the QuickTime file format.
enum MovieHeader {
    /// Where the first movie of a file and its header lie.
    static func find(in content: inout BoundedContent) -> (movie: ISOBoxes.Span, header: ISOBoxes.Span)? {
        let file = ISOBoxes.Span(start: 0, end: content.count)
        guard let movie = ISOBoxes.first("moov", in: file, of: &content),
            let header = ISOBoxes.first("mvhd", in: movie, of: &content)
        else { return nil }
        return (movie, header)
    }
}
