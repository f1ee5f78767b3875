internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Which photos are the user's own. The server's answers to uploads and to `/check` do not tell (photosync contract 3.3
/// and 3.7, trap 11); only the own listing does, which the index holds.
struct OwnPhotos: Sendable {
    let account: SyncAccount
    private let queue = StoreQueue()

    init(_ account: SyncAccount) {
        self.account = account
    }

    /// Photos of the index with these bytes, and those that this machine has a downloaded copy of with these bytes: servers
    /// rewrite files, and such a copy must not be sent as a new photo (trap 12).
    ///
    /// - Returns: Photos by the digest that was asked for.
    func known(_ digests: [String]) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        let (index, library, server) = (account.index, account.library, account.server)
        return try await queue.run { [account] in
            // A dry run has not brought the index up to date, and it may have another user's photos.
            guard try account.state() != nil else { return [:] }
            var known = Self.bySHA256(try index.photos(withDigests: digests, of: server))
            let others = digests.filter { known[$0] == nil }
            let copies = try library.copies(withDigests: others, server: server)
                .filter { $0.state == .present && $0.sha256 != $0.serverSHA256 }
            // A photo that is gone from the server is no reason to keep a file from it.
            let byID = try index.photosByID(copies.map(\.photoID), of: server)
            for copy in copies {
                if let digest = copy.sha256, let photo = byID[copy.photoID] { known[digest] = photo }
            }
            return known
        }
    }

    /// Photos of the index that were uploaded with these bytes, by digest.
    func uploaded(_ digests: [String]) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        let (index, server) = (account.index, account.server)
        return try await queue.run { Self.bySHA256(try index.photos(withDigests: digests, of: server)) }
    }

    /// Photos of the index with these ids, by id.
    func withIDs(_ ids: [String]) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        let (index, server) = (account.index, account.server)
        return try await queue.run { try index.photosByID(ids, of: server) }
    }

    /// Records which local files are which photos, one for each path, where it is not recorded yet.
    func record(_ copies: [PhotoCopy]) async throws(PhotoSyncError) {
        let (library, server) = (account.library, account.server)
        let new = try await queue.run {
            let recorded = try library.copies(at: copies.map(\.path), server: server)
            let byPath = Dictionary(grouping: recorded, by: \.path)
            let photoIDs = Dictionary(copies.map { ($0.path, $0.photoID) }) { first, _ in first }
            // The file has other content since, and is no copy of the earlier photo any more.
            let outdated = recorded.filter { $0.state == .present && $0.photoID != photoIDs[$0.path] }
            if !outdated.isEmpty { try library.remove(outdated) }
            return copies.filter { copy in !(byPath[copy.path] ?? []).contains { $0.isSameFile(as: copy) } }
        }
        guard !new.isEmpty else { return }
        do {
            try await library.keep(new)
        } catch {
            throw PhotoSyncError.ofStore(error)
        }
    }

    /// Keeps, for `sync status`, whether an upload of this run was seen in the own listing.
    func remember(isOwned: Bool) async throws(PhotoSyncError) {
        let (index, server) = (account.index, account.server)
        try await queue.run { try index.setOwnsUploads(isOwned, at: server) }
    }

    /// Of several with the same bytes the one that came last: a server has no bytes twice, so the others are gone.
    private static func bySHA256(_ photos: [PhotoRecord]) -> [String: PhotoRecord] {
        Dictionary(photos.map { ($0.sha256, $0) }) { one, other in
            one.uploadedAt.microseconds < other.uploadedAt.microseconds ? other : one
        }
    }

    /// Photos with these bytes in the listing as it is now. Changes nothing, neither in the index nor on the server, where
    /// naming a device would move its `lastSyncAt` (contract section 4).
    ///
    /// - Throws: `PhotoSyncError`, as a pull: a listing that cannot be right is not believed.
    func listed(_ digests: [String], control: TransferControl) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        guard !digests.isEmpty else { return [:] }
        let state = try await queue.run { [account] in try account.state() }
        let kind = SyncRun.Kind(after: state, overlap: Pull.Options().overlap)
        let request = LiveListing.Request(kind: kind, control: control)
        let live = try await LiveListing.make(of: account, request, queue: queue)
        let server = account.server
        return try await queue.run { Self.bySHA256(try live.index.photos(withDigests: digests, of: server)) }
    }
}

extension PhotoCopy {
    /// Whether it says what another one would say; where it came from does not matter.
    fileprivate func isSameFile(as other: PhotoCopy) -> Bool {
        photoID == other.photoID && state == other.state && sha256 == other.sha256 && identity == other.identity
    }
}
