/// `Duration` of Matroska and WebM (RFC 9559 section 5.1.2.10): a floating-point number of `TimestampScale` (5.1.2.9).
enum MatroskaDuration {
    private static let duration: UInt64 = 0x4489
    private static let scale: UInt64 = 0x2A_D7B1

    static func milliseconds(in content: inout BoundedContent) -> Int64? {
        guard let info = EBMLElements.matroskaInfo(in: &content),
            let duration = number(duration, in: info, of: &content)
        else { return nil }
        let count: Double
        switch duration.byteCount {
        case 4: count = Double(Float(bitPattern: UInt32(truncatingIfNeeded: duration.bits)))
        case 8: count = Double(bitPattern: duration.bits)
        default: return nil
        }
        // In nanoseconds; a millisecond is the default.
        let scale = number(scale, in: info, of: &content)?.bits ?? 1_000_000
        let milliseconds = (count * Double(scale) / 1_000_000).rounded()
        guard milliseconds.isFinite, abs(milliseconds) < 0x1p62 else { return nil }
        return Int64(milliseconds)
    }

    private static func number(
        _ identifier: UInt64,
        in info: EBMLElements.Span,
        of content: inout BoundedContent
    ) -> (bits: UInt64, byteCount: Int)? {
        guard let element = EBMLElements.first(identifier, in: info, of: &content),
            (1...8).contains(element.end - element.start)
        else { return nil }
        let count = Int(element.end - element.start)
        return content.bytes(at: element.start, count: count)?.bigEndian(at: 0, count: count).map { ($0, count) }
    }
}
