/// Shortens text to a number of bytes.
package enum TextCut {
    /// The first characters that fit; none is cut within.
    ///
    /// One character may be thousands of bytes of combining marks: when not even the first fits, the cut is between two of
    /// its scalars.
    package static func head(of text: String, byteCount: Int) -> String {
        guard text.utf8.count > byteCount else { return text }
        let limit = text.utf8.index(text.utf8.startIndex, offsetBy: byteCount)
        var end = limit
        while end > text.startIndex, end.samePosition(in: text) == nil { end = text.utf8.index(before: end) }
        if end == text.startIndex {
            end = limit
            while end > text.startIndex, end.samePosition(in: text.unicodeScalars) == nil {
                end = text.utf8.index(before: end)
            }
        }
        return String(text[..<end])
    }
}
