internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Claims legacy photos for this machine's device (photosync contract section 7).
///
/// There is no way back. Only ids of the user's own listing are ever sent: the server would claim another user's photos
/// just as well.
public struct LegacyClaim: Sendable {
    /// Which photos.
    public enum Selection: Sendable, Equatable {
        /// All legacy photos.
        case all
        /// Those with these ids; only such as the user's own listing shows are ever sent.
        case ids([String])
    }

    /// Ids in one request. The server has no limit, but 30 seconds for the whole request.
    static let blockSize = 500

    let account: SyncAccount
    private let queue = StoreQueue()

    /// Prepares a claim.
    public init(_ account: SyncAccount) {
        self.account = account
    }

    /// The user's legacy photos, by the server's listing as it is now, oldest upload first.
    ///
    /// - Parameters:
    ///   - control: Breaks off.
    ///   - body: Takes up to 500 of them at a time, when the whole listing is known to be right.
    /// - Returns: How many there are.
    /// - Throws: `PhotoSyncError`: what `Pull.run` throws for a listing that cannot be right; what `body` throws.
    public func list(
        control: TransferControl = TransferControl(),
        _ body: @escaping @Sendable ([PhotoRecord]) throws -> Void
    ) async throws -> Int64 {
        let live = try await LiveListing.make(of: account, .init(control: control), queue: queue)
        let result = try await queue.run {
            Result { () throws -> Int64 in
                try live.index.forEachBlock(of: live.server, where: PhotoFilter(origin: .legacy), body)
                return try live.legacyCount
            }
        }
        return try result.get()
    }

    /// What a claim would do, asking only.
    public func plan(
        _ selection: Selection,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> ClaimPlan {
        let before = try await account.client.status(device: account.deviceID)
        let live = try await LiveListing.make(of: account, .init(control: control), queue: queue)
        return try await queue.run {
            switch selection {
            case .all:
                ClaimPlan(selection: selection, ids: [], count: try live.legacyCount, before: before)
            case .ids(let ids):
                try Self.plan(ids.distinct, live, before)
            }
        }
    }

    private static func plan(_ ids: [String], _ live: LiveListing, _ before: SyncStatus) throws -> ClaimPlan {
        var plan = ClaimPlan(selection: .ids(ids), ids: [], count: 0, before: before)
        for block in ids.blocks(of: blockSize) {
            let found = try live.photos(block)
            for id in block {
                if let photo = found[id] {
                    if photo.originDevice == nil { plan.ids.append(id) } else { plan.alreadyClaimed.append(id) }
                } else {
                    plan.unknown.append(id)
                }
            }
        }
        plan.count = Int64(plan.ids.count)
        return plan
    }

    /// Claims what was planned, in blocks of 500, and counts again afterwards: the server's own numbers say nothing.
    ///
    /// Safe to repeat: what is claimed stays, and counts as already claimed then.
    ///
    /// - Parameters:
    ///   - plan: What to claim.
    ///   - control: Stops between two blocks.
    /// - Returns: What it came to.
    /// - Throws: `PhotoSyncError`: `.noDevice`, `.invalidDevice` when the server does not know this machine's device as the
    ///   user's, and what `Pull.run` throws for a listing that cannot be right. Blocks before may be claimed then.
    public func run(
        _ plan: ClaimPlan,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> ClaimResult {
        guard let device = account.deviceID else { throw PhotoSyncError(.noDevice) }
        var count = ClaimCount(device: device)
        count.alreadyClaimed = Int64(plan.alreadyClaimed.count)
        count.failed = Int64(plan.unknown.count)
        switch plan.selection {
        case .all: return try await claimAll(count, control)
        case .ids: return try await claim(plan.ids, count, control)
        }
    }

    private func claim(
        _ ids: [String],
        _ count: ClaimCount,
        _ control: TransferControl
    ) async throws(PhotoSyncError) -> ClaimResult {
        for block in ids.blocks(of: Self.blockSize) {
            guard !control.isStopRequested else { throw PhotoSyncError(.cancelled) }
            _ = try await account.client.claim(block, device: count.device)
            SyncKillPoint.betweenClaims.reach()
        }
        SyncKillPoint.afterClaim.reach()
        return try await counted(count, control) { count, live, index in
            for block in ids.blocks(of: Self.blockSize) { try count.add(block, live, index) }
        }
    }

    private func claimAll(_ count: ClaimCount, _ control: TransferControl) async throws(PhotoSyncError) -> ClaimResult {
        // What is legacy at this moment, which may be more than was planned.
        let before = try await LiveListing.make(of: account, .init(control: control), queue: queue)
        guard !control.isStopRequested else { throw PhotoSyncError(.cancelled) }
        _ = try await account.client.claimAll(device: count.device)
        SyncKillPoint.afterClaim.reach()
        return try await counted(count, control) { count, live, index in
            try before.index.forEachBlock(of: before.server, where: PhotoFilter(origin: .legacy)) { block in
                try count.add(block.map(\.id), live, index)
            }
        }
    }

    /// Lists anew what `add` looks up.
    private func counted(
        _ count: ClaimCount,
        _ control: TransferControl,
        _ add: @escaping @Sendable (inout ClaimCount, LiveListing, SyncIndex) throws -> Void
    ) async throws(PhotoSyncError) -> ClaimResult {
        let index = account.index
        let live = try await LiveListing.make(of: account, .init(control: control), queue: queue)
        let (count, remaining) = try await queue.run {
            var count = count
            try add(&count, live, index)
            return (count, try live.legacyCount)
        }
        return ClaimResult(
            claimed: count.claimed,
            alreadyClaimed: count.alreadyClaimed,
            failed: count.failed,
            remaining: remaining,
            after: try await account.client.status(device: count.device)
        )
    }
}

/// What became of photos that were to be claimed, by a listing made afterwards.
private struct ClaimCount: Sendable {
    let device: String
    var claimed: Int64 = 0
    var alreadyClaimed: Int64 = 0
    var failed: Int64 = 0

    /// Looks photos up, and tells the index of their origin.
    mutating func add(_ ids: [String], _ live: LiveListing, _ index: SyncIndex) throws {
        let found = try live.photos(ids)
        var origins: [PhotoDevice: [String]] = [:]
        for id in ids {
            guard let origin = found[id]?.originDevice else {
                failed += 1
                continue
            }
            origins[origin, default: []].append(id)
            if origin.id == device { claimed += 1 } else { alreadyClaimed += 1 }
        }
        for (origin, ids) in origins {
            try index.setOrigin(origin, ofPhotos: ids, server: live.server)
        }
    }
}

extension Array where Element == String {
    /// Each once, in order.
    fileprivate var distinct: [String] {
        var seen: Set<String> = []
        return filter { seen.insert($0).inserted }
    }

    fileprivate func blocks(of size: Int) -> [[String]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
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
    public var alreadyClaimed: [String] = []
    /// Ids that are not in the user's listing.
    public var unknown: [String] = []
    /// The server's counts before.
    public var before: SyncStatus
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
}
