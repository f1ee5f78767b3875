internal import MediaStore
internal import MediaTransport

/// Determines which photos in the index are still on the server. An incremental listing does not show deletions
/// (photosync contract section 5), and `/check` covers all users: a deleted photo whose bytes another user has would be
/// reported as present.
extension PushRun {
    /// Updates the index. If the number of photos in the index then differs from that on the server, lists everything.
    func pullFirst() async throws(PhotoSyncError) {
        let result = try await pull()
        hasListedAll = result.isFull
        guard !result.isFull, let total = result.status?.totalPhotos, total != result.counts.total else { return }
        try await pull(isFull: true)
        hasListedAll = true
    }

    /// The photos that are still on the server. Only a dry run needs this, since it does not update the index.
    func stillListed(
        _ photos: [(PhotoToSend, PhotoRecord)]
    ) async throws -> [(PhotoToSend, PhotoRecord)] {
        guard options.isDryRun, !photos.isEmpty else { return photos }
        if !hasListedAll {
            hasListedAll = true
            listing = try await own.listingOfOutdatedIndex(control)
        }
        guard let listing else { return photos }
        let ids = photos.map(\.1.id)
        let listed = try await StoreWork.run { try listing.photos(ids) }
        return photos.filter { listed[$0.1.id] != nil }
    }
}

extension OwnPhotos {
    /// The server's current full listing; nil if the index, with the new photos, has as many photos as the server.
    fileprivate func listingOfOutdatedIndex(_ control: TransferControl) async throws(PhotoSyncError) -> LiveListing? {
        let live = try await LiveListing.ofNews(for: account, control)
        if live.outcome.run.kind == .full { return live }
        let count = try await StoreWork.run { [account] in
            try account.index.counts(of: account.server, device: nil).total + live.changes(to: account.index).added
        }
        if count == live.outcome.run.totalCount { return nil }
        return try await LiveListing.make(of: account, control: control)
    }
}
