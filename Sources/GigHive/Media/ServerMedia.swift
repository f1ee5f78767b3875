/// A file on a server, with the events that it belongs to. Values that a release does not report are nil.
public struct ServerMedia: Sendable, Equatable {
    /// One event of a file.
    public struct Event: Sendable, Hashable {
        /// `YYYY-MM-DD`.
        public var date: String?
        /// The organization, as the server stores it.
        public var orgName: String?
        /// The label of the file in this event.
        public var label: String?
        /// `band`, `wedding`, …
        public var eventType: String?

        /// Makes an event.
        package init(date: String? = nil, orgName: String? = nil, label: String? = nil, eventType: String? = nil) {
            self.date = date
            self.orgName = orgName
            self.label = label
            self.eventType = eventType
        }
    }

    /// The server's id.
    public var fileID: Int64
    /// The events, in the order of the listing; those that match, where a query chose by event.
    public var events: [Event]
    /// The served name, `<sha256>.<ext>`.
    public var fileName: String?
    /// `audio` or `video`.
    public var fileType: String?
    /// 64 lower-case hexadecimal characters.
    public var checksumSHA256: String?
    /// Length in seconds.
    public var durationSeconds: Int64?
    /// When the media was recorded, as the server found it in the file; no zone.
    public var mediaCreatedAt: String?
    /// Path of the media on the server.
    public var path: String?
    /// When it was stored, `YYYY-MM-DD HH:MM:SS` in the server's time zone.
    public var createdAt: String?
    /// Length in bytes; known after `adding(_:)`.
    public var sizeBytes: Int64?
    /// For example `video/mp4`; known after `adding(_:)`.
    public var mimeType: String?
    /// The readable name that the server made of event and label; known after `adding(_:)`.
    public var sourceName: String?

    /// Makes a file without events.
    package init(fileID: Int64) {
        self.fileID = fileID
        events = []
    }

    /// The file of a listing's entry; nil for an entry without id.
    init?(_ entry: ListingPage.Entry) {
        guard let fileID = entry.fileID else { return nil }
        self.init(fileID: fileID)
        fileName = entry.fileName
        fileType = entry.fileType
        checksumSHA256 = entry.checksumSHA256
        durationSeconds = entry.durationSeconds
        mediaCreatedAt = entry.mediaCreatedAt
        path = entry.url
        createdAt = entry.createdAt
        add(entry)
    }

    /// Adds the event of another entry of the same file.
    mutating func add(_ entry: ListingPage.Entry) {
        // The view by asset has neither date nor organization nor title.
        guard entry.date != nil || entry.orgName != nil || entry.title != nil else { return }
        let event = Event(date: entry.date, orgName: entry.orgName, label: entry.title, eventType: entry.eventType)
        if !events.contains(event) {
            events.append(event)
        }
    }

    /// The same with what `GET /api/uploads/<id>` reports (gighive contract 2.5).
    public func adding(_ asset: Asset) -> ServerMedia {
        var media = self
        media.fileName = asset.fileName ?? fileName
        media.fileType = asset.fileType ?? fileType
        media.checksumSHA256 = asset.checksumSHA256 ?? checksumSHA256
        media.durationSeconds = asset.durationSeconds ?? durationSeconds
        media.createdAt = asset.createdAt ?? createdAt
        media.sizeBytes = asset.sizeBytes
        media.mimeType = asset.mimeType
        media.sourceName = asset.sourceName
        return media
    }
}
