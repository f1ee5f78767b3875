internal import Foundation

/// An event as its key tells it (gighive contract 2.1): date and organisation, blanks collapsed, composed.
struct InventoryEvent: Hashable, Sendable {
    private let key: String

    init(date: String, orgName: String) {
        let words = orgName.precomposedStringWithCanonicalMapping.split(whereSeparator: \.isWhitespace)
        key = date + " " + words.joined(separator: " ")
    }

    init(_ details: UploadDetails) {
        self.init(date: details.eventDate, orgName: details.orgName)
    }
}
