internal import MediaStore
internal import MediaTransport

/// Which photos are the user's own. The server's answers to uploads and to `/check` do not tell (photosync contract 3.3
/// and 3.7, trap 11); only the own listing does, which the index holds.
struct OwnPhotos: Sendable {
    let account: SyncAccount

    /// Photos of the index with these bytes, and those that this machine has a downloaded copy of with these bytes: servers
    /// rewrite files, and such a copy must not be sent as a new photo (trap 12).
    ///
    /// - Returns: Photos by the digest that was asked for.
    func known(_ digests: [String]) throws(PhotoSyncError) -> [String: PhotoRecord] {
        do {
            var known = try uploaded(digests)
            let others = digests.filter { known[$0] == nil }
            let copies = try account.library.copies(withDigests: others, server: account.server)
                .filter { $0.state == .present && $0.sha256 != $0.serverSHA256 }
            guard !copies.isEmpty else { return known }
            // A photo that is gone from the server is no reason to keep a file from it.
            let photos = try account.index.photos(copies.map(\.photoID), of: account.server)
            let byID = Dictionary(photos.map { ($0.id, $0) }) { first, _ in first }
            for copy in copies {
                if let digest = copy.sha256, let photo = byID[copy.photoID] { known[digest] = photo }
            }
            return known
        } catch {
            throw PhotoSyncError(error)
        }
    }

    /// Photos of the index that were uploaded with these bytes, by digest.
    func uploaded(_ digests: [String]) throws(StoreError) -> [String: PhotoRecord] {
        let photos = try account.index.photos(withDigests: digests, of: account.server)
        return Dictionary(photos.map { ($0.sha256, $0) }) { first, _ in first }
    }

    /// Photos with these bytes in the listing as it is now. Changes nothing, neither in the index nor on the server, where
    /// naming a device would move its `lastSyncAt` (contract section 4).
    func listed(_ digests: Set<String>, control: TransferControl) async throws(PhotoSyncError) -> [String: PhotoRecord]
    {
        guard !digests.isEmpty else { return [:] }
        var found: [String: PhotoRecord] = [:]
        var cursor: String?
        var cursors: Set<String> = []
        let since = try start()
        repeat {
            let page = try await account.client.photos(cursor: cursor, device: nil, since: since, control: control)
            for photo in page.photos where digests.contains(photo.sha256) { found[photo.sha256] = photo }
            cursor = page.hasMore ? page.cursor : nil
            if let cursor, !cursors.insert(cursor).inserted {
                throw PhotoSyncError(.repeatedCursor, value: cursor)
            }
        } while cursor != nil && found.count < digests.count
        return found
    }

    /// Behind what the index knows, with the overlap that late rows need (contract section 5); nil for all.
    private func start() throws(PhotoSyncError) -> PhotoTime? {
        do {
            guard let watermark = try account.index.state(of: account.server)?.watermark else { return nil }
            let microseconds = watermark.microseconds - 300_000_000
            return RFC3339.text(microseconds: microseconds).map { PhotoTime(text: $0, microseconds: microseconds) }
        } catch {
            throw PhotoSyncError(error)
        }
    }
}
