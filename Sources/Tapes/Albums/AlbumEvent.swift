/// What happened to an album (rule R19). No event holds a key; title and path stand in `details`, for debug logs only.
public struct AlbumEvent: Sendable, Equatable {
    /// What happened.
    public enum Kind: String, Sendable {
        /// An attempt begins.
        case ensure
        /// An album was made.
        case create
        /// An album that was there is used.
        case reuse
        /// All clips of the attempt are in the album.
        case add
        /// The library refused some of them.
        case addPartly = "partial add"
        /// Clips were taken out.
        case remove
        /// An album was deleted.
        case delete
        /// An attempt went no further; the message says why.
        case pending
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
