public import MediaStore
public import MediaTransport

/// Claims legacy photos for this machine's device (photosync contract section 7).
public struct LegacyClaim: Sendable {
    /// Which photos.
    public enum Selection: Sendable, Equatable {
        /// All legacy photos.
        case all
        /// Those with these ids; only such as the user's own listing shows are ever sent.
        case ids([String])
    }

    let account: SyncAccount

    /// Prepares a claim.
    public init(_ account: SyncAccount) {
        self.account = account
    }

    /// The user's legacy photos, by the server's listing as it is now, oldest upload first.
    ///
    /// - Parameter body: Takes them a page at a time.
    /// - Throws: `PhotoSyncError`: what `Pull.run` throws for a listing that cannot be right; what `body` throws.
    public func list(
        control: TransferControl = TransferControl(),
        _ body: @escaping @Sendable ([PhotoRecord]) throws -> Void
    ) async throws -> Int64 { throw PhotoSyncError(.internalError) }

    /// What a claim would do, asking only.
    public func plan(_ selection: Selection, control: TransferControl = TransferControl())
        async throws(PhotoSyncError) -> ClaimPlan
    { throw PhotoSyncError(.internalError) }

    /// Claims what was planned, in blocks of 500, and counts again afterwards: the server's own numbers say nothing.
    ///
    /// - Parameter control: Stops between two blocks.
    /// - Throws: `PhotoSyncError`.
    public func run(_ plan: ClaimPlan, control: TransferControl = TransferControl())
        async throws(PhotoSyncError) -> ClaimResult
    { throw PhotoSyncError(.internalError) }
}

/// What is to be claimed.
public struct ClaimPlan: Sendable, Equatable {
    /// What was asked for.
    public var selection: LegacyClaim.Selection
    /// Ids that will be claimed; empty for `.all`, which the server does in one step.
    public var ids: [String]
    /// Photos that will be claimed.
    public var count: Int64
    /// Ids that are in the listing and have a device already.
    public var alreadyClaimed: [String]
    /// Ids that are not in the user's listing.
    public var unknown: [String]
    /// The server's counts before.
    public var before: SyncStatus

    /// Makes a plan.
    public init(
        selection: LegacyClaim.Selection,
        ids: [String],
        count: Int64,
        alreadyClaimed: [String] = [],
        unknown: [String] = [],
        before: SyncStatus
    ) {
        self.selection = selection
        self.ids = ids
        self.count = count
        self.alreadyClaimed = alreadyClaimed
        self.unknown = unknown
        self.before = before
    }
}

/// What a claim came to, by counting.
public struct ClaimResult: Sendable, Equatable {
    /// Photos that this device has claimed now.
    public var claimed: Int64
    /// Photos that had a device before, or got one meanwhile.
    public var alreadyClaimed: Int64
    /// Photos that are still legacy although they were to be claimed, and unknown ids.
    public var failed: Int64
    /// Legacy photos that remain.
    public var remaining: Int64
    /// The server's counts afterwards.
    public var after: SyncStatus

    /// Makes a result.
    public init(claimed: Int64, alreadyClaimed: Int64, failed: Int64, remaining: Int64, after: SyncStatus) {
        self.claimed = claimed
        self.alreadyClaimed = alreadyClaimed
        self.failed = failed
        self.remaining = remaining
        self.after = after
    }
}
