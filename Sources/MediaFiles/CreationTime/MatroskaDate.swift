/// `DateUTC` of Matroska and WebM (RFC 9559 section 5.1.2).
enum MatroskaDate {
    /// From 1970-01-01 to 2001-01-01, in seconds.
    private static let epochOffset: Int64 = 978_307_200

    private static let date: UInt64 = 0x4461

    static func seconds(in content: inout BoundedContent) -> Int64? {
        guard let info = EBMLElements.matroskaInfo(in: &content),
            let date = EBMLElements.first(date, in: info, of: &content), date.end - date.start == 8,
            let nanoseconds = content.bytes(at: date.start, count: 8)?.bigEndian(at: 0, count: 8)
        else { return nil }
        let (seconds, rest) = Int64(bitPattern: nanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
        return (rest < 0 ? seconds - 1 : seconds) + epochOffset
    }
}
