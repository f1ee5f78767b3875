public import MediaStore

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
    package init(photos: Int64, pages: Int64, expected: Int64?, attempt: Int) {
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
    package init(
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

    /// Whether only a full pull brings the index up to the server: its own counts after the run are others than the
    /// index's, because photos were deleted or claimed elsewhere, which an incremental run is never told (contract section
    /// 5), or while a full run listed them. False when the server would not say, and after a dry run.
    public var advisesFull: Bool {
        status?.differs(from: counts) ?? false
    }
}

extension SyncStatus {
    func differs(from counts: PhotoCounts) -> Bool {
        totalPhotos != counts.total || legacyPhotos != counts.legacy || devicePhotos != counts.thisDevice
    }
}
