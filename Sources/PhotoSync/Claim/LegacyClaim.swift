internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Claims legacy photos for this machine's device (photosync contract section 7).
///
/// A claim cannot be undone. Only IDs in the user's own listing are sent, since the server would also claim another
/// user's photos.
public struct LegacyClaim: Sendable {
    /// The photos to claim.
    public enum Selection: Sendable, Equatable {
        /// All legacy photos.
        case all
        /// Photos with these IDs; only IDs in the user's own listing are sent.
        case ids([String])
    }

    /// Number of IDs per request. The server has no limit on IDs, but allows 30 seconds per request.
    static let blockSize = 500

    let account: SyncAccount

    public init(_ account: SyncAccount) {
        self.account = account
    }

    /// Lists the user's legacy photos from a new server listing, oldest upload first, and returns their number. `body` is
    /// called with batches of up to 500 photos, after the whole listing has been verified.
    ///
    /// - Throws: `PhotoSyncError`: errors from `Pull.run` for an invalid listing, and errors thrown by `body`.
    public func list(
        control: TransferControl = TransferControl(),
        _ body: @escaping @Sendable ([PhotoRecord]) throws -> Void
    ) async throws -> Int64 {
        let live = try await LiveListing.make(of: account, control: control)
        return try await BlockingWork.run {
            try live.index.forEachBlock(of: live.server, where: PhotoFilter(origin: .legacy), body)
            return try live.legacyCount
        }
    }

    /// Plans a claim without changing anything.
    public func plan(
        _ selection: Selection,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> ClaimPlan {
        let before = try await account.client.status(device: account.deviceID, control: control)
        let live = try await LiveListing.make(of: account, control: control)
        return try await StoreWork.run {
            switch selection {
            case .all:
                ClaimPlan(selection: selection, ids: [], count: try live.legacyCount, before: before)
            case .ids(let ids):
                try Self.plan(ids.uniqued { $0 }, live, before)
            }
        }
    }

    private static func plan(_ ids: [String], _ live: LiveListing, _ before: SyncStatus) throws -> ClaimPlan {
        var plan = ClaimPlan(selection: .ids(ids), ids: [], count: 0, before: before)
        for block in ids.chunks(of: blockSize) {
            let found = try live.photos(Array(block))
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

    /// Claims the planned photos in blocks of 500, then lists again to count them, since the counts in the server's
    /// responses are not reliable.
    ///
    /// Safe to repeat: photos claimed earlier stay claimed and are counted as already claimed. Stopping `control` ends
    /// queries, prevents further requests, and waits for the response to a claim for as long as `control` specifies.
    ///
    /// - Throws: `PhotoSyncError`: `.noDevice`, `.invalidDevice` if the server's list of the user's devices does not
    ///   contain this machine, and errors from `Pull.run` for an invalid listing. Earlier blocks may already be
    ///   claimed.
    public func run(
        _ plan: ClaimPlan,
        control: TransferControl = TransferControl()
    ) async throws(PhotoSyncError) -> ClaimResult {
        guard let device = account.deviceID else { throw PhotoSyncError(.noDevice) }
        var all: LiveListing?
        switch plan.selection {
        case .all:
            // The current legacy photos; there may be more than were planned.
            all = try await LiveListing.make(of: account, control: control)
            guard !control.isStopRequested else { throw PhotoSyncError(.cancelled) }
            _ = try await account.client.claimAll(device: device, control: control)
        case .ids:
            for block in plan.ids.chunks(of: Self.blockSize) {
                guard !control.isStopRequested else { throw PhotoSyncError(.cancelled) }
                _ = try await account.client.claim(Array(block), device: device, control: control)
                SyncFailpoint.betweenClaims.reach()
            }
        }
        SyncFailpoint.afterClaim.reach()
        let live = try await LiveListing.make(of: account, control: control)
        let (count, remaining) = try await StoreWork.run { [index = account.index, all] in
            var count = ClaimCount(device: device)
            count.alreadyClaimed = Int64(plan.alreadyClaimed.count)
            count.failed = Int64(plan.unknown.count)
            try all?.index.forEachBlock(of: live.server, where: PhotoFilter(origin: .legacy)) { block in
                try count.add(block.map(\.id), live, index)
            }
            for block in plan.ids.chunks(of: Self.blockSize) { try count.add(Array(block), live, index) }
            return (count, try live.legacyCount)
        }
        return ClaimResult(
            claimed: count.claimed,
            alreadyClaimed: count.alreadyClaimed,
            failed: count.failed,
            remaining: remaining,
            after: try await account.client.status(device: device, control: control)
        )
    }
}

private struct ClaimCount: Sendable {
    let device: String
    var claimed: Int64 = 0
    var alreadyClaimed: Int64 = 0
    var failed: Int64 = 0

    /// Looks up photos, and records their origin devices in the index.
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

/// A planned claim.
public struct ClaimPlan: Sendable, Equatable {
    /// The requested photos.
    public var selection: LegacyClaim.Selection
    /// IDs to claim; empty for `.all`, which the server claims in one step.
    public var ids: [String]
    /// Number of photos to claim.
    public var count: Int64
    /// IDs of listed photos that already have a device.
    public var alreadyClaimed: [String] = []
    /// IDs that are not in the user's listing.
    public var unknown: [String] = []
    /// The server's counts before the claim.
    public var before: SyncStatus
}

/// The result of a claim, determined by counting the photos again.
public struct ClaimResult: Sendable, Equatable {
    /// Number of requested photos that now belong to this device.
    public var claimed: Int64
    /// Number of photos assigned to another device, before or during the claim.
    public var alreadyClaimed: Int64
    /// Number of requested photos that are still legacy or were deleted, plus unknown IDs.
    public var failed: Int64
    /// Number of remaining legacy photos.
    public var remaining: Int64
    /// The server's counts after the claim.
    public var after: SyncStatus
}
