/// A selection of files on a server. Every value that is set must match; date, organization, type and label in
/// the same event.
public struct MediaQuery: Sendable, Equatable {
    /// `YYYY-MM-DD`.
    public var eventDate: String?
    /// The whole name of the organization. White space, case and accents do not count.
    public var orgName: String?
    /// `band`, `wedding`, …
    public var eventType: String?
    /// The whole label, compared like `orgName`.
    public var label: String?
    /// The served name, or the readable name that the server made.
    public var fileName: String?
    /// 64 lower-case hexadecimal characters.
    public var checksumSHA256: String?
    /// `YYYY-MM-DD`, or `YYYY-MM-DD HH:MM:SS`, in the server's time zone: stored then or later.
    public var since: String?
    /// `audio` or `video`.
    public var fileType: String?

    /// Makes a query that matches everything.
    public init() {}

    /// Whether everything matches.
    public var isEmpty: Bool { self == MediaQuery() }

    /// Whether a file must belong to an event to match.
    var choosesByEvent: Bool { eventDate != nil || orgName != nil || eventType != nil || label != nil }

    /// The filters that the server applies: substrings, so that they find all that match and more (gighive contract
    /// section 7).
    var serverFilters: [(name: String, value: String)] {
        var filters: [(name: String, value: String)] = []
        if let eventDate {
            filters.append(("date", eventDate))
        }
        if let term = orgName.flatMap(StoredText.searchTerm) {
            filters.append(("org_name", term))
        }
        if let term = label.flatMap(StoredText.searchTerm) {
            filters.append(("item_label", term))
        }
        if let fileType {
            filters.append(("file_type", fileType))
        }
        return filters
    }

    /// A listed file with the events that match; nil when its entries rule it out.
    func narrowed(_ media: ServerMedia) -> ServerMedia? {
        if let fileType, media.fileType != fileType {
            return nil
        }
        if let checksumSHA256, let known = media.checksumSHA256, known != checksumSHA256 {
            return nil
        }
        if let fileName, Self.isServedName(fileName), let known = media.fileName, known != fileName {
            return nil
        }
        guard choosesByEvent else { return media }
        var media = media
        media.events = media.events.filter(includes)
        return media.events.isEmpty ? nil : media
    }

    /// Whether an event of a file matches date, organization, type and label. A type that the server does not list does not
    /// rule the event out.
    public func includes(_ event: ServerMedia.Event) -> Bool {
        (eventDate == nil || event.date == eventDate)
            && isSame(event.orgName, orgName) && isSame(event.label, label)
            && (eventType == nil || event.eventType == nil || isSame(event.eventType, eventType))
    }

    private func isSame(_ stored: String?, _ wanted: String?) -> Bool {
        guard let wanted else { return true }
        return stored.map { StoredText.isSame($0, wanted) } ?? false
    }

    /// Whether a file that passed `narrowed` requires `GET /api/uploads/<id>` to be matched.
    func needsDetails(of media: ServerMedia) -> Bool {
        (since != nil && media.createdAt == nil) || (checksumSHA256 != nil && media.checksumSHA256 == nil)
            || (fileName != nil && fileName != media.fileName)
    }

    /// Applies the filters that `narrowed` could not apply.
    ///
    /// - Throws: `.filterUnavailable` when the server does not report a value that is compared.
    func matches(_ media: ServerMedia) throws(GigHiveError) -> Bool {
        if eventType != nil, media.events.contains(where: { $0.eventType == nil }) {
            throw Self.unavailable("event_type", "the server does not report event types")
        }
        if let checksumSHA256 {
            guard let known = media.checksumSHA256 else {
                throw Self.unavailable("sha256", "the server does not report checksums")
            }
            guard known == checksumSHA256 else { return false }
        }
        if let fileName, fileName != media.fileName {
            guard let sourceName = media.sourceName else {
                throw Self.unavailable("file_name", "the server reports only names like <sha256>.<extension>")
            }
            guard sourceName == fileName else { return false }
        }
        if let since {
            guard let createdAt = media.createdAt else {
                throw Self.unavailable("since", "the server does not report upload times")
            }
            guard createdAt >= since else { return false }
        }
        return true
    }

    /// `<sha256>.<ext>`.
    private static func isServedName(_ name: String) -> Bool {
        let stem = name.prefix { $0 != "." }
        return stem.utf8.count == 64 && stem.allSatisfy(\.isHexDigit)
    }

    private static func unavailable(_ field: String, _ detail: String) -> GigHiveError {
        GigHiveError(.filterUnavailable, detail: detail, field: field)
    }
}
