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
