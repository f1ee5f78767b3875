/// What happened to an album (rule R19). No event holds a key; title and path stand in `details`, for debug logs only.
public struct AlbumEvent: Sendable, Equatable {
    /// What happened.
    public enum Kind: String, Sendable {
        case ensure, create, reuse, add
        case addPartly = "partial add"
        case remove, delete, pending
    }

    /// What happened.
    public var kind: Kind
    /// The tape.
    public var tapeID: String
    /// The album.
    public var albumID: String?
    /// Words without titles and paths.
    public var message: String
    /// Titles and paths: for debug logs.
    public var details: String

    /// Makes an event.
    package init(_ kind: Kind, tapeID: String, albumID: String? = nil, message: String = "", details: String = "") {
        self.kind = kind
        self.tapeID = tapeID
        self.albumID = albumID
        self.message = message
        self.details = details
    }
}
