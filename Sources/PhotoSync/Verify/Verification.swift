public import MediaStore
public import MediaTransport

/// Compares index, local copies and server, and changes none of them.
public struct Verification: Sendable {
    let account: SyncAccount
    let hashes: HashCache
    let readsContent: Bool

    /// Prepares a comparison.
    ///
    /// - Parameters:
    ///   - hashes: Spares unchanged files from being read.
    ///   - readsContent: Whether local files are read even where the cache knows them.
    public init(_ account: SyncAccount, hashes: HashCache, readsContent: Bool = false) {
        self.account = account
        self.hashes = hashes
        self.readsContent = readsContent
    }

    /// Lists the server anew, and looks at every copy.
    ///
    /// - Parameters:
    ///   - control: Breaks off.
    ///   - onDifference: Told of each difference; from any thread, one call at a time.
    ///   - progress: Photos and copies looked at.
    /// - Returns: What was compared.
    /// - Throws: `PhotoSyncError`: what `Pull.run` throws for a listing that cannot be right, `.neverSynchronized`.
    public func run(
        control: TransferControl = TransferControl(),
        onDifference: @escaping @Sendable (SyncDifference) -> Void,
        progress: (@Sendable (PullProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> VerificationResult { throw PhotoSyncError(.internalError) }
}

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
        /// The copy's bytes are others than were written or sent.
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
    public init(kind: Kind, photoID: String, path: [UInt8]? = nil, expected: String? = nil, found: String? = nil) {
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
    public init() {}
}
