/// One range of a `Range` header (RFC 9110 section 14.1.2).
struct ByteRange: Equatable {
    /// Nil when no byte of the file is in it.
    var bytes: Range<Int>?

    /// Nil when the header is none that this server serves: other units, several ranges, bad syntax.
    init?(_ header: String, size: Int) {
        guard let match = header.wholeMatch(of: /bytes=([0-9]*)-([0-9]*)/) else { return nil }
        switch (Int(match.1), Int(match.2)) {
        case (nil, nil): return nil
        case (nil, let suffix?): bytes = suffix == 0 || size == 0 ? nil : max(0, size - suffix)..<size
        case (let first?, nil): bytes = first < size ? first..<size : nil
        case (let first?, let last?):
            guard first <= last else { return nil }
            bytes = first < size ? first..<min(last, size - 1) + 1 : nil
        }
    }
}
