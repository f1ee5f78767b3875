internal import Foundation
internal import MediaStore
internal import MediaTransport

/// The whole listing of a server as it is now, in a database of its own that goes with this object. Neither the index nor
/// the server is changed: not even the device's `lastSyncAt` moves.
final class LiveListing: Sendable {
    let index: SyncIndex
    let server: String
    /// How it was had.
    let outcome: Listing.Outcome
    private let directory: String

    /// Asks for all of it.
    ///
    /// - Throws: `PhotoSyncError`, as `Listing.store`.
    init(
        of account: SyncAccount,
        _ kind: SyncRun.Kind = .full,
        pageSize: Int = 500,
        restarts: Int = 3,
        queue: StoreQueue,
        control: TransferControl,
        progress: (@Sendable (PullProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) {
        let place = FileManager.default.temporaryDirectory.path + "/mediactl-listing-" + UUID().uuidString
        let listing = Listing(
            source: account.source(pageSize: pageSize, device: nil),
            index: try await queue.run { try SyncIndex(in: try DataDirectory.open(place)) },
            server: account.server,
            accountKey: "",
            isIndexOfAll: false,
            maximumRestarts: restarts,
            queue: queue
        )
        do {
            let outcome = try await listing.store(kind, control: control, progress: progress)
            _ = try await queue.run { try listing.index.finish(outcome.run, now: Date()) }
            self.outcome = outcome
        } catch {
            try? FileManager.default.removeItem(atPath: place)
            throw error
        }
        index = listing.index
        server = account.server
        directory = place
    }

    deinit {
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The photos with these ids, by id.
    func photos(_ ids: [String]) throws(StoreError) -> [String: PhotoRecord] {
        try index.photosByID(ids, of: server)
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
