/// The stored details of an upload, from the response (gighive contract 2.2). The server normalizes text, so
/// it may differ from what was sent (trap T27). What a response lacks is nil.
public struct StoredFacts: Sendable, Equatable {
    /// The server's id of the event (`event_id`; `session_id` on older servers).
    public var eventID: Int64?
    /// Place in the event, from 1 (`position`; `seq` on older servers).
    public var position: Int64?
    /// `YYYY-MM-DD`.
    public var eventDate: String?
    /// The event's organization.
    public var orgName: String?
    /// `band`, `wedding`, …
    public var eventType: String?
    /// The title.
    public var label: String?
    /// The media type that the server keeps with the file.
    public var mimeType: String?
    /// Length in seconds; nil when the server could not determine it.
    public var durationSeconds: Int64?
    /// Comma-separated names; nil for none.
    public var participants: String?
    /// Comma-separated keywords; nil for none.
    public var keywords: String?

    /// Creates empty facts.
    public init() {}
}

/// A file on a server in one of its events.
public struct StoredFile: Sendable, Equatable {
    /// The token store's key.
    public var host: String
    /// The server's id.
    public var fileID: Int64
    /// 64 lower-case hexadecimal characters; empty when unknown.
    public var checksumSHA256: String
    /// The facts from the server.
    public var facts: StoredFacts

    /// Makes a file.
    public init(host: String, fileID: Int64, checksumSHA256: String, facts: StoredFacts) {
        self.host = host
        self.fileID = fileID
        self.checksumSHA256 = checksumSHA256
        self.facts = facts
    }
}
