public import MediaStore
public import MediaTransport

/// Brings the index up to what the server has (photosync contract section 5).
public struct Pull: Sendable {
    /// How a pull goes.
    public struct Options: Sendable, Equatable {
        /// Whether everything is listed anew. A first pull always does.
        public var isFull: Bool
        /// Photos a page, 1 to 500.
        public var pageSize: Int
        /// How far an incremental run goes back behind the latest upload it knows (contract section 5).
        public var overlap: Duration
        /// How often a listing that cannot be right is begun anew.
        public var restarts: Int
        /// Only count what would come, store nothing.
        public var isDryRun: Bool

        /// Makes options.
        public init(
            isFull: Bool = false,
            pageSize: Int = 500,
            overlap: Duration = .seconds(300),
            restarts: Int = 3,
            isDryRun: Bool = false
        ) {
            self.isFull = isFull
            self.pageSize = pageSize
            self.overlap = overlap
            self.restarts = restarts
            self.isDryRun = isDryRun
        }
    }

    let account: SyncAccount
    let options: Options

    /// Prepares a pull.
    public init(_ account: SyncAccount, options: Options = Options()) {
        self.account = account
        self.options = options
    }

    /// Runs to the end of the listing.
    ///
    /// - Parameters:
    ///   - control: Stops after the page under way; what is stored stays, and the next pull goes on there.
    ///   - progress: Called after each page.
    /// - Returns: What was found. A result that is not complete is never returned: it is an error.
    /// - Throws: `PhotoSyncError`: `.stubServer`, `.listingIncomplete`, `.repeatedCursor`, `.cancelled` …
    public func run(
        control: TransferControl = TransferControl(),
        progress: (@Sendable (PullProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PullResult { throw PhotoSyncError(.internalError) }
}

/// Where a pull stands.
public struct PullProgress: Sendable, Equatable {
    /// Distinct photos so far.
    public var photos: Int64
    /// Pages so far.
    public var pages: Int64
    /// How many photos a full run will see, as the server says; nil for an incremental run (trap 19).
    public var expected: Int64?
    /// Which beginning this is, from 1.
    public var attempt: Int

    /// Makes a progress value.
    public init(photos: Int64, pages: Int64, expected: Int64?, attempt: Int) {
        self.photos = photos
        self.pages = pages
        self.expected = expected
        self.attempt = attempt
    }
}

/// What a complete pull found.
public struct PullResult: Sendable, Equatable {
    /// Whether everything was listed.
    public var isFull: Bool
    /// Whether it went on where an earlier one had stopped.
    public var isResumed: Bool
    /// Distinct photos that were listed.
    public var photos: Int64
    /// Pages that were listed.
    public var pages: Int64
    /// How often it was begun anew.
    public var restarts: Int
    /// What changed in the index.
    public var changes: SyncChanges
    /// The index as it is now.
    public var counts: PhotoCounts
    /// The server's own counts after the run; nil when it would not say.
    public var status: SyncStatus?

    /// Makes a result.
    public init(
        isFull: Bool,
        isResumed: Bool = false,
        photos: Int64 = 0,
        pages: Int64 = 0,
        restarts: Int = 0,
        changes: SyncChanges = SyncChanges(),
        counts: PhotoCounts = PhotoCounts(),
        status: SyncStatus? = nil
    ) {
        self.isFull = isFull
        self.isResumed = isResumed
        self.photos = photos
        self.pages = pages
        self.restarts = restarts
        self.changes = changes
        self.counts = counts
        self.status = status
    }
}
