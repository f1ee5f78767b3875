internal import Foundation
internal import MediaStore
internal import MediaTransport

/// The whole listing of a server as it is now, in a database of its own. Neither the index nor the server is changed: not
/// even the device's `lastSyncAt` moves.
struct LiveListing: Sendable {
    let index: SyncIndex
    let server: String
    /// How it was had.
    let outcome: Listing.Outcome
    /// Where its database is, for as long as `with` lasts.
    let directory: String

    /// What to list, and how.
    struct Request: Sendable {
        var kind = SyncRun.Kind.full
        var pageSize = 500
        var restarts = 3
        var control = TransferControl()
        var progress: (@Sendable (PullProgress) -> Void)?
    }

    /// Lists, and removes the database when `body` has ended.
    ///
    /// - Throws: `PhotoSyncError`, as `Listing.store`; what `body` throws.
    static func with<Value: Sendable>(
        _ account: SyncAccount,
        _ request: Request,
        queue: StoreQueue,
        _ body: (LiveListing) async throws(PhotoSyncError) -> Value
    ) async throws(PhotoSyncError) -> Value {
        let directory = FileManager.default.temporaryDirectory.path + "/mediactl-listing-" + UUID().uuidString
        let result = await Result.awaiting { () async throws(PhotoSyncError) in
            try await body(try await make(account, request, queue: queue, in: directory))
        }
        // It may be large.
        _ = try? await queue.run { try FileManager.default.removeItem(atPath: directory) }
        return try result.get()
    }

    private static func make(
        _ account: SyncAccount,
        _ request: Request,
        queue: StoreQueue,
        in directory: String
    ) async throws(PhotoSyncError) -> LiveListing {
        let index = try await queue.run { try SyncIndex(in: try DataDirectory.open(directory)) }
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
        _ = try await queue.run { try index.finish(outcome.run, now: Date()) }
        return LiveListing(index: index, server: account.server, outcome: outcome, directory: directory)
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
