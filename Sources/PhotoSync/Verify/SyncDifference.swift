/// One thing that is not the same everywhere.
public struct SyncDifference: Sendable, Equatable {
    /// What differs.
    public enum Kind: String, Sendable, CaseIterable {
        /// On the server, not in the index.
        case notIndexed = "not_indexed"
        /// In the index, no longer on the server.
        case notOnServer = "not_on_server"
        /// In both, told differently (name, size, dates, hash).
        case changedOnServer = "changed_on_server"
        /// In both, with another origin device.
        case originChanged = "origin_changed"
        /// The copy is gone from this machine.
        case copyMissing = "copy_missing"
        /// The copy's bytes are others than were written or sent, or cannot be read.
        case copyChanged = "copy_changed"
        /// The copy's photo is no longer on the server.
        case copyOrphaned = "copy_orphaned"
        /// A download that has not come to its end.
        case copyUnfinished = "copy_unfinished"
    }

    /// What differs.
    public var kind: Kind
    /// The photo.
    public var photoID: String
    /// The local file, for a copy.
    public var path: [UInt8]?
    /// What index or record say.
    public var expected: String?
    /// What was found.
    public var found: String?

    /// Makes a difference.
    package init(kind: Kind, photoID: String, path: [UInt8]? = nil, expected: String? = nil, found: String? = nil) {
        self.kind = kind
        self.photoID = photoID
        self.path = path
        self.expected = expected
        self.found = found
    }
}

/// What a comparison looked at.
public struct VerificationResult: Sendable, Equatable {
    /// Photos that the server listed.
    public var photos: Int64 = 0
    /// Copies on this machine.
    public var copies: Int64 = 0
    /// Differences by kind.
    public var counts: [SyncDifference.Kind: Int] = [:]

    /// Makes a result of nothing.
    package init() {}
}
