public import MediaStore

/// What `reconcile` would do.
public struct ReconcilePlan: Sendable, Equatable {
    /// Tapes with something to do, the one that waits longest first.
    public var tapes: [TapeRecord]
    /// Deletions owed.
    public var tombstones: [AlbumTombstone]

    /// Makes a plan.
    package init(tapes: [TapeRecord], tombstones: [AlbumTombstone]) {
        self.tapes = tapes
        self.tombstones = tombstones
    }
}

/// What `reconcile --apply` did.
public struct ReconcileOutcome: Sendable, Equatable {
    /// Tapes that were worked on.
    public var done: Int
    /// Tapes that are left.
    public var left: Int
    /// Albums that were deleted.
    public var deletedAlbums: Int
    /// Why it ended early; nil when it did not.
    public var stoppedBy: AssociationReason?
    /// What the library said, for people.
    public var detail: String

    /// Makes an outcome.
    package init(
        done: Int,
        left: Int,
        deletedAlbums: Int,
        stoppedBy: AssociationReason? = nil,
        detail: String = ""
    ) {
        self.done = done
        self.left = left
        self.deletedAlbums = deletedAlbums
        self.stoppedBy = stoppedBy
        self.detail = detail
    }
}
