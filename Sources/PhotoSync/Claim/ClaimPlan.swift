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
    package init(
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
    /// Photos that are still legacy or gone although they were to be claimed, and unknown ids.
    public var failed: Int64
    /// Legacy photos that remain.
    public var remaining: Int64
    /// The server's counts afterwards.
    public var after: SyncStatus

    /// Makes a result.
    package init(claimed: Int64, alreadyClaimed: Int64, failed: Int64, remaining: Int64, after: SyncStatus) {
        self.claimed = claimed
        self.alreadyClaimed = alreadyClaimed
        self.failed = failed
        self.remaining = remaining
        self.after = after
    }
}
