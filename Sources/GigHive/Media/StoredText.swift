internal import Foundation

/// Compares names with what a server made of them: white space collapsed, characters composed, and on some releases
/// everything in plain lower-case ASCII (gighive contract section 7, trap T27).
enum StoredText {
    /// Whether a stored name is that of `wanted`, with the rules of the server's database: white space, case and accents
    /// do not distinguish two names.
    static func isSame(_ stored: String, _ wanted: String) -> Bool {
        let stored = folded(stored)
        return stored == folded(wanted) || stored == simplified(wanted)
    }

    /// White space collapsed, without case and accents, as the database compares names (`utf8mb4_unicode_ci`).
    static func folded(_ text: String) -> String {
        collapsed(text).folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    }

    /// The form in which late D2 releases store a name: in lower case, without apostrophes, transliterated.
    static func simplified(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in text.lowercased().unicodeScalars {
            switch scalar {
            case "'", "`", "\u{2018}", "\u{2019}", "\u{2032}": continue
            case "\u{2013}", "\u{2014}": plain.append("-")
            default: plain.append(scalar)
            }
        }
        let transform = StringTransform("Any-Latin; Latin-ASCII")
        return collapsed(String(plain).applyingTransform(transform, reverse: false) ?? String(plain))
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

    /// The form of a label in the readable names that servers make: in lower case, with a hyphen for every run of
    /// characters that are not ASCII letters or digits (gighive contract, trap T16).
    static func slug(_ label: String) -> String {
        label.lowercased().split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "-")
    }

    private static func collapsed(_ text: String) -> String {
        text.precomposedStringWithCanonicalMapping.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
