public import MediaStore
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
        let live = try await LiveListing(of: account, queue: queue, control: control)
        let thrown = try await queue.run { () -> (any Error)? in
            do {
                try live.index.forEachBlock(of: live.server, where: PhotoFilter(origin: .legacy), body)
                return nil
            } catch {
                return error
            }
        }
        if let thrown { throw thrown }
        return try await queue.run { try live.index.counts(of: live.server, device: nil).legacy }
    }

    /// What a claim would do, asking only.
    public func plan(
        _ selection: Selection,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> ClaimPlan {
        let before = try await account.client.status(device: account.deviceID)
        let live = try await LiveListing(of: account, queue: queue, control: control)
        switch selection {
        case .all:
            let count = try await queue.run { try live.index.counts(of: live.server, device: nil).legacy }
            return ClaimPlan(selection: selection, ids: [], count: count, before: before)
        case .ids(let ids):
            var plan = ClaimPlan(selection: selection, ids: [], count: 0, before: before)
            for block in ids.distinct.blocks(of: Self.blockSize) {
                let found = try await queue.run { try live.photos(block) }
                for id in block {
                    switch found[id] {
                    case nil: plan.unknown.append(id)
                    case .some(let photo) where photo.originDevice != nil: plan.alreadyClaimed.append(id)
                    case .some: plan.ids.append(id)
                    }
                }
            }
            plan.count = Int64(plan.ids.count)
            return plan
        }
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

        let live: LiveListing
        switch plan.selection {
        case .all:
            // What is legacy at this moment, which may be more than was planned.
            let before = try await LiveListing(of: account, queue: queue, control: control)
            guard !control.isStopRequested else { throw PhotoSyncError(.cancelled) }
            _ = try await account.client.claimAll(device: device)
            SyncKillPoint.afterClaim.reach()
            live = try await LiveListing(of: account, queue: queue, control: control)
            count = try await counted(count, legacyIn: before, now: live)
        case .ids:
            for block in plan.ids.blocks(of: Self.blockSize) {
                guard !control.isStopRequested else { throw PhotoSyncError(.cancelled) }
                _ = try await account.client.claim(block, device: device)
                SyncKillPoint.betweenClaims.reach()
            }
            SyncKillPoint.afterClaim.reach()
            live = try await LiveListing(of: account, queue: queue, control: control)
            for block in plan.ids.blocks(of: Self.blockSize) {
                count = try await counted(count, block, now: live)
            }
        }
        return ClaimResult(
            claimed: count.claimed,
            alreadyClaimed: count.alreadyClaimed,
            failed: count.failed,
            remaining: try await queue.run { try live.index.counts(of: live.server, device: nil).legacy },
            after: try await account.client.status(device: device)
        )
    }

    private func counted(
        _ count: ClaimCount,
        legacyIn before: LiveListing,
        now live: LiveListing
    ) async throws(PhotoSyncError) -> ClaimCount {
        let index = account.index
        return try await queue.run {
            var count = count
            try before.index.forEachBlock(of: before.server, where: PhotoFilter(origin: .legacy)) { block in
                try count.add(block.map(\.id), live, index)
            }
            return count
        }
    }

    private func counted(
        _ count: ClaimCount,
        _ ids: [String],
        now live: LiveListing
    ) async throws(PhotoSyncError) -> ClaimCount {
        let index = account.index
        return try await queue.run {
            var count = count
            try count.add(ids, live, index)
            return count
        }
    }
}

/// What became of photos that were to be claimed, by a listing made afterwards.
private struct ClaimCount: Sendable {
    let device: String
    var claimed: Int64 = 0
    var alreadyClaimed: Int64 = 0
    var failed: Int64 = 0

    init(device: String) {
        self.device = device
    }

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
