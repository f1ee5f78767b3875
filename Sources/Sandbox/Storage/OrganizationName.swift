import Foundation

/// How the releases store and compare the names of organizations (gighive contract T27).
enum OrganizationName {
    /// The name as the database keeps it: D1 as sent, D2 as a comparison form, D3 and D4 with single blanks.
    static func stored(_ name: String, _ dialect: Dialect) -> String {
        switch dialect {
        case .d1: name
        case .d2: comparisonForm(name)
        case .d3, .d4: normalized(name)
        }
    }

    /// NFC with runs of blanks as one.
    static func normalized(_ text: String) -> String {
        text.split(whereSeparator: \.isWhitespace).joined(separator: " ").precomposedStringWithCanonicalMapping
    }

    /// What D2 keeps of organizations and labels: lower case, no apostrophes, plain dashes, no accents.
    static func comparisonForm(_ text: String) -> String {
        var form = normalized(text).lowercased()
        form.removeAll { "'\u{2019}\u{2018}\u{60}\u{2032}".contains($0) }
        for (letter, plain) in [("\u{2013}", "-"), ("\u{2014}", "-"), ("ß", "ss"), ("æ", "ae"), ("ø", "o")] {
            form = form.replacingOccurrences(of: letter, with: plain)
        }
        return normalized(form.folding(options: .diacriticInsensitive, locale: nil))
    }

    /// Equal for names that the database takes for the same: its collation ignores case and accents.
    static func key(_ name: String) -> String {
        name.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    }
}
