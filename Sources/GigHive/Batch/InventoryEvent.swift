internal import Foundation

/// The key of an event: date and organization, compared as the server compares them (gighive contract 2.1 and section 7).
struct InventoryEvent: Hashable, Sendable {
    private let key: String

    /// Of an entry that has neither date nor organization.
    static let unknown = InventoryEvent(date: "", orgName: "")

    private init(key: String) {
        self.key = key
    }

    /// White space is collapsed; case and accents do not distinguish two events, as in the server's database
    /// (`utf8mb4_unicode_ci`).
    init(date: String, orgName: String) {
        let words = orgName.precomposedStringWithCanonicalMapping.split(whereSeparator: \.isWhitespace)
        let folded = words.joined(separator: " ").folding(
            options: [.caseInsensitive, .diacriticInsensitive],
            locale: nil
        )
        key = date + " " + folded
    }

    init(_ details: UploadDetails) {
        self.init(date: details.eventDate, orgName: details.orgName)
    }

    /// The same event as late D2 releases list it: without apostrophes, every dash a hyphen.
    var simplified: InventoryEvent {
        var text = String.UnicodeScalarView()
        for scalar in key.unicodeScalars {
            switch scalar.value {
            case 0x27, 0x60, 0x2018, 0x2019, 0x2032: continue
            case 0x2013, 0x2014: text.append("-")
            default: text.append(scalar)
            }
        }
        return InventoryEvent(key: String(text).split(separator: " ").joined(separator: " "))
    }
}
