/// The duration in the movie header of ISO/IEC 14496-12 section 8.2.2; of a movie in fragments, in its extends header (8.8.2).
enum MovieDuration {
    static func milliseconds(in content: inout BoundedContent) -> Int64? {
        guard let (movie, header) = MovieHeader.find(in: &content),
            let start = content.bytes(at: header.start, count: 4), header.end - header.start >= 20
        else { return nil }
        let isLong = start[0] == 1
        // Version and flags, creation and modification time, time scale, duration.
        let (scaleOffset, count): (Int64, Int) = isLong ? (20, 8) : (12, 4)
        guard let scale = content.bytes(at: header.start + scaleOffset, count: 4)?.bigEndian(at: 0, count: 4),
            let duration = content.bytes(at: header.start + scaleOffset + 4, count: count)?
                .bigEndian(at: 0, count: count)
        else { return nil }
        // All ones: not known.
        guard duration != (isLong ? .max : 0xFFFF_FFFF) else { return nil }
        let known = duration > 0 ? duration : ofFragments(in: movie, of: &content)
        return known.flatMap { MediaDuration.milliseconds($0, per: scale) }
    }

    private static func ofFragments(in movie: ISOBoxes.Span, of content: inout BoundedContent) -> UInt64? {
        guard let extends = ISOBoxes.first("mvex", in: movie, of: &content),
            let header = ISOBoxes.first("mehd", in: extends, of: &content),
            let start = content.bytes(at: header.start, count: 4)
        else { return nil }
        let count = start[0] == 1 ? 8 : 4
        return content.bytes(at: header.start + 4, count: count)?.bigEndian(at: 0, count: count)
    }
}
