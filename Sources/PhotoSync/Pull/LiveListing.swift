internal import MediaStore
internal import MediaTransport

/// The whole listing of a server as it is now, in a temporary database of its own. Neither the index nor the server is
/// changed: not even the device's `lastSyncAt` moves.
struct LiveListing: Sendable {
    let index: SyncIndex
    let server: String
    /// How it was had.
    let outcome: Listing.Outcome

    /// What to list, and how.
    struct Request: Sendable {
        var kind = SyncRun.Kind.full
        var pageSize = 500
        var restarts = 3
        var control = TransferControl()
        var progress: (@Sendable (PullProgress) -> Void)?
    }

    /// Lists.
    ///
    /// - Throws: `PhotoSyncError`, as `Listing.store`.
    static func make(
        of account: SyncAccount,
        _ request: Request = Request(),
        queue: StoreQueue
    ) async throws(PhotoSyncError) -> LiveListing {
        let index = try await queue.run { try SyncIndex.temporary() }
        let listing = Listing(
            source: account.source(pageSize: request.pageSize, device: nil),
            index: index,
            server: account.server,
            accountKey: "",
            isIndexOfAll: false,
            maximumRestarts: request.restarts,
            queue: queue
        )
        let outcome = try await listing.store(request.kind, control: request.control, progress: request.progress)
        _ = try await queue.run { try index.finish(outcome.run, now: nil) }
        return LiveListing(index: index, server: account.server, outcome: outcome)
    }

    /// The photos with these ids, by id.
    func photos(_ ids: [String]) throws(StoreError) -> [String: PhotoRecord] {
        try index.photosByID(ids, of: server)
    }

    /// How many of the photos have no device.
    var legacyCount: Int64 {
        get throws(StoreError) { try index.counts(of: server, device: nil).legacy }
    }

    /// What would change in another index if this listing were pulled into it, besides photos that are gone.
    func changes(to other: SyncIndex) throws -> SyncChanges {
        var changes = SyncChanges()
        try index.forEachBlock(of: server, where: PhotoFilter()) { block in
            let known = try other.photosByID(block.map(\.id), of: server)
            for photo in block {
                guard let old = known[photo.id] else {
                    changes.added += 1
                    continue
                }
                if old != photo { changes.changed += 1 }
            }
        }
        return changes
    }

    /// How many photos of another index this listing does not have.
    func goneCount(from other: SyncIndex) throws -> Int64 {
        var count: Int64 = 0
        try other.forEachBlock(of: server, where: PhotoFilter()) { block in
            count += Int64(block.count - (try photos(block.map(\.id)).count))
        }
        return count
    }
}

extension SyncIndex {
    /// The photos with these ids that are not gone, by id.
    func photosByID(_ ids: [String], of server: String) throws(StoreError) -> [String: PhotoRecord] {
        Dictionary(try photos(ids, of: server).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension SyncAccount {
    /// Pages of this account's listing. Asking for them moves the `lastSyncAt` of `device` (contract section 4).
    func source(pageSize: Int, device: String?) -> Listing.Source {
        let client = client
        return { (cursor, since, control) async throws(PhotoSyncError) in
            try await client.photos(cursor: cursor, limit: pageSize, device: device, since: since, control: control)
        }
    }
}
