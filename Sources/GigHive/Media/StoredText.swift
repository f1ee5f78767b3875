internal import Foundation

/// Compares names with what a server made of them: white space collapsed, characters composed, and on some releases
/// everything in plain lower-case ASCII (gighive contract section 7, trap T27).
enum StoredText {
    /// Whether a stored name is that of `wanted`.
    ///
    /// Case and accents count, unless the stored name has neither and so may be such a rewritten one.
    static func isSame(_ stored: String, _ wanted: String) -> Bool {
        let stored = collapsed(stored)
        let wanted = collapsed(wanted)
        return stored == wanted || (isPlain(stored) && stored == plain(wanted))
    }

    /// A part of `wanted` that every stored form of it contains, for the server's substring filters: the longest run of
    /// ASCII letters and digits, which neither the rewriting nor the syntax of filters touches.
    ///
    /// - Returns: nil when no run has three characters or more.
    static func searchTerm(_ wanted: String) -> String? {
        let runs = wanted.precomposedStringWithCanonicalMapping.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        guard let longest = runs.max(by: { $0.count < $1.count }), longest.count >= 3 else { return nil }
        return String(longest)
    }

    private static func collapsed(_ text: String) -> String {
        text.precomposedStringWithCanonicalMapping.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }

    private static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 && !(0x41...0x5a ~= $0) } }

    /// The rewritten form: transliterated, in lower case, without apostrophes.
    private static func plain(_ text: String) -> String? {
        let transform = StringTransform("Any-Latin; Latin-ASCII; Lower")
        return (text as NSString).applyingTransform(transform, reverse: false)
            .map { collapsed($0.replacing("'", with: "")) }
    }
}
