/// How long a recording is, as its own container says.
package enum MediaDuration {
    /// In milliseconds: `mvhd` and `mehd` of MP4 and QuickTime, `Duration` of Matroska and WebM, the headers of AVI; nil for
    /// other formats, and where the file says nothing, or something impossible (0, more than a century).
    ///
    /// Reads a few kilobytes, never the whole file; what lies behind more than some thousand boxes is not looked for.
    package static func milliseconds(of file: SourceFile) -> Int64? {
        var content = BoundedContent(of: file)
        return milliseconds(in: &content)
    }

    static func milliseconds(in content: inout BoundedContent) -> Int64? {
        guard let milliseconds = told(by: &content), (1...longest).contains(milliseconds) else { return nil }
        return milliseconds
    }

    /// A century.
    private static let longest: Int64 = 100 * 365 * 86_400_000

    private static func told(by content: inout BoundedContent) -> Int64? {
        guard let start = content.bytes(at: 0, count: 12) else { return nil }
        if start.starts(with: [0x1A, 0x45, 0xDF, 0xA3]) { return MatroskaDuration.milliseconds(in: &content) }
        if start.fourCharacters(at: 0) == "RIFF" {
            return start.fourCharacters(at: 8) == "AVI " ? AVIDuration.milliseconds(in: &content) : nil
        }
        switch start.fourCharacters(at: 4) {
        case "ftyp", "moov", "mdat", "wide", "free", "skip", "pnot": return MovieDuration.milliseconds(in: &content)
        default: return nil
        }
    }

    /// A number of units as milliseconds, rounded; nil when it is none or too great.
    static func milliseconds(_ count: UInt64, per second: UInt64) -> Int64? {
        let product = count.multipliedFullWidth(by: 1000)
        let (low, carry) = product.low.addingReportingOverflow(second / 2)
        let high = product.high + (carry ? 1 : 0)
        guard second > high else { return nil }
        return Int64(exactly: second.dividingFullWidth((high, low)).quotient)
    }
}
