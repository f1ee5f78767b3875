/// One run through a server's listing, as it stands in the index.
public struct SyncRun: Sendable, Equatable {
    /// What a run asks for.
    public enum Kind: Sendable, Equatable {
        /// Everything. Finds deletions and changed origins.
        case full
        /// What was uploaded at or after a time, inclusive (photosync contract section 5: `sinceTimestamp`).
        case since(PhotoTime)
    }

    /// Number of the run; a later one is larger.
    public var number: Int64
    /// Address of the server.
    public var server: String
    /// What it asks for.
    public var kind: Kind
    /// Where the next page begins; nil at the start, and when `isAtEnd`.
    public var cursor: String?
    /// Whether the last page has been stored.
    public var isAtEnd: Bool
    /// Whether an earlier process has stored pages of it.
    public var isResumed: Bool
    /// Distinct photos that it has stored.
    public var photosSeen: Int64
    /// Pages that it has stored.
    public var pagesSeen: Int64
    /// The server's last `totalCount`.
    public var totalCount: Int64

    /// Makes a run.
    public init(
        number: Int64,
        server: String,
        kind: Kind,
        cursor: String? = nil,
        isAtEnd: Bool = false,
        isResumed: Bool = false,
        photosSeen: Int64 = 0,
        pagesSeen: Int64 = 0,
        totalCount: Int64 = 0
    ) {
        self.number = number
        self.server = server
        self.kind = kind
        self.cursor = cursor
        self.isAtEnd = isAtEnd
        self.isResumed = isResumed
        self.photosSeen = photosSeen
        self.pagesSeen = pagesSeen
        self.totalCount = totalCount
    }
}

/// What a run changed in the index.
public struct SyncChanges: Sendable, Equatable {
    /// Photos that were not known before.
    public var added: Int64 = 0
    /// Photos that were known and are told differently now.
    public var changed: Int64 = 0
    /// Photos that a full run did not see any more.
    public var gone: Int64 = 0

    /// Makes changes of none.
    public init() {}
}
