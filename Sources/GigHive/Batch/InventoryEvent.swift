/// The key of an event: date and organization, compared as the server compares them (gighive contract 2.1 and section 7).
struct InventoryEvent: Hashable, Sendable {
    private let date: String
    /// As the database compares it.
    private let orgName: String
    private let givenName: String

    /// The key of an entry without date and organization.
    static let unknown = InventoryEvent(date: "", orgName: "")

    init(date: String, orgName: String) {
        self.date = date
        self.orgName = StoredText.folded(orgName)
        givenName = orgName
    }

    init(_ details: UploadDetails) {
        self.init(date: details.eventDate, orgName: details.orgName)
    }

    /// The same event as late D2 releases list it.
    var simplified: InventoryEvent { InventoryEvent(date: date, orgName: StoredText.simplified(givenName)) }

    static func == (left: InventoryEvent, right: InventoryEvent) -> Bool {
        left.date == right.date && left.orgName == right.orgName
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(date)
        hasher.combine(orgName)
    }
}
