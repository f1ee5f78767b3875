internal import MediaCore

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
    /// The served name (`<sha256>.<ext>`), the readable name that the server made, or the name of the original file, which
    /// no server stores: see `guessesFileName`.
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

    /// Whether `fileName` is not a served name. It then also matches files whose label is the name without its extension,
    /// the default label, and files whose readable name was made of such a label. Several files may match.
    public var guessesFileName: Bool { fileName.map { !Self.isServedName($0) } ?? false }

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
    func needsDetails(of media: ServerMedia, reportsSourceNames: Bool = true) -> Bool {
        (since != nil && media.createdAt == nil) || (checksumSHA256 != nil && media.checksumSHA256 == nil)
            || (reportsSourceNames && fileName.map { $0 != media.fileName && !hasLabel($0, media) } ?? false)
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
        if let fileName, fileName != media.fileName, !hasLabel(fileName, media) {
            // Releases D1 and D2 report only served names.
            guard let sourceName = media.sourceName, Self.isSourceName(sourceName, of: fileName) else { return false }
        }
        if let since {
            guard let createdAt = media.createdAt else {
                throw Self.unavailable("since", "the server does not report upload times")
            }
            guard createdAt >= since else { return false }
        }
        return true
    }

    // MARK: File names

    /// Whether an event of the file has the label that an upload of `fileName` gets by default.
    private func hasLabel(_ fileName: String, _ media: ServerMedia) -> Bool {
        guard guessesFileName else { return false }
        let stem = Self.parts(of: fileName).stem
        return media.events.contains { $0.label.map { StoredText.isSame($0, stem) } ?? false }
    }

    /// Whether the readable name of a file is `fileName`, or was made of its stem as the label: `band20260301_my-clip.mp4`
    /// for `My Clip.mp4`.
    private static func isSourceName(_ sourceName: String, of fileName: String) -> Bool {
        guard sourceName != fileName else { return true }
        let (stem, fileExtension) = parts(of: fileName)
        let slug = StoredText.slug(stem)
        guard !isServedName(fileName), !slug.isEmpty else { return false }
        return sourceName.lowercased().hasSuffix("_" + slug + fileExtension.lowercased())
    }

    /// A file name in two: `clip` and `.mp4`. `.hidden` and `name.` have no extension.
    private static func parts(of fileName: String) -> (stem: String, fileExtension: String) {
        guard let dot = fileName.lastIndex(of: "."), dot != fileName.startIndex,
            fileName.index(after: dot) != fileName.endIndex
        else { return (fileName, "") }
        return (String(fileName[..<dot]), String(fileName[dot...]))
    }

    /// `<sha256>.<ext>`.
    private static func isServedName(_ name: String) -> Bool {
        SHA256Text.lowerCased(String(name.prefix { $0 != "." })) != nil
    }

    private static func unavailable(_ field: String, _ detail: String) -> GigHiveError {
        GigHiveError(.filterUnavailable, detail: detail, field: field)
    }
}
