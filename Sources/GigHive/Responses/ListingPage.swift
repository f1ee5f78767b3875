internal import MediaCore
internal import MediaCrypto
internal import MediaTransport

/// One page of the media listing (`/db/database.php?format=json`, gighive contract section 7).
public struct ListingPage: Sendable, Equatable {
    /// Number of this page, from 1.
    public var page: Int64
    /// Number of pages; 1 if the server does not paginate.
    public var pageCount: Int64
    /// Number of entries on all pages; nil if not reported.
    public var total: Int64?
    /// The entries with an ID or a name.
    public var entries: [Entry]

    /// The view of a listing: what an entry represents.
    public enum View: String, Sendable {
        /// One entry for each event that an asset belongs to.
        case event
        /// One entry for each asset, including those without an event; date, organization and title are empty.
        case librarian
    }

    /// One asset, in one event if the view is by event.
    public struct Entry: Sendable, Equatable {
        /// The ID on the server.
        public var fileID: Int64?
        /// `YYYY-MM-DD`.
        public var date: String?
        /// The event's organization; in lowercase in some releases.
        public var orgName: String?
        /// The title (`song_title`).
        public var title: String?
        /// `audio` or `video`.
        public var fileType: String?
        /// Served name, `<sha256>.<ext>`.
        public var fileName: String?
        /// Path of the media on the server.
        public var url: String?
        /// Length in seconds; nil if the server could not measure it.
        public var durationSeconds: Int64?
        /// When the media was recorded, as the server found it in the file, without a time zone.
        public var mediaCreatedAt: String?
        /// `band`, `wedding`, …; none of the known releases lists it.
        public var eventType: String?
        /// When the file was stored, in the server's time zone; none of the known releases lists it.
        public var createdAt: String?

        /// The SHA-256 that the served name starts with, in lowercase hexadecimal; nil if it starts otherwise.
        public var checksumSHA256: String? {
            let names = [fileName, url?.split(separator: "/").last.map(String.init)]
            return names.compactMap { $0.flatMap { SHA256Digest(hex: String($0.prefix { $0 != "." })) } }.first?.hex
        }

        /// Whether the entry belongs to an event; an entry without a date and organization matches any event.
        func isIn(_ event: InventoryEvent) -> Bool {
            let own = InventoryEvent(date: date ?? "", orgName: orgName ?? "")
            return own == event || own == event.simplified || own == .unknown
        }

        /// Whether this is the file with a digest: its served name starts with it.
        func holds(checksumSHA256: String) -> Bool {
            let names = [fileName, url?.split(separator: "/").last.map(String.init)]
            return names.contains { name in
                guard let name = name?.lowercased() else { return false }
                return name == checksumSHA256 || name.hasPrefix(checksumSHA256 + ".")
            }
        }
    }

    /// Reads a page; nil if the body is not a listing.
    static func parse(_ body: [UInt8]) -> ListingPage? {
        let content = ResponseText.content(of: body)
        guard case .array(let entries)? = content.members["entries"] else { return nil }
        let pagination = content.members["pagination"]?.members ?? [:]
        return ListingPage(
            page: pagination.identifier("page") ?? 1,
            pageCount: pagination.identifier("pageCount") ?? 1,
            total: pagination["total"]?.wholeNumber,
            entries: entries.compactMap { $0.members.flatMap(Entry.init) }
        )
    }
}

extension ListingPage.Entry {
    init?(_ members: JSONObject) {
        fileID = members.identifier("id")
        fileName = members.text("file_name")
        guard fileID != nil || fileName != nil else { return nil }
        date = members.text("date")
        orgName = members.text("org_name")
        title = members.text("song_title")
        fileType = members.text("file_type")
        url = members.text("url")
        durationSeconds = members["duration_seconds"]?.wholeNumber.flatMap { $0 > 0 ? $0 : nil }
        mediaCreatedAt = members.text("media_created_at")
        eventType = members.text("event_type")
        createdAt = members.text("created_at")
    }
}
