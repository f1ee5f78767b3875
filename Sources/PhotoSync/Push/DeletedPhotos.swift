internal import Foundation
internal import MediaFiles
internal import MediaStore

extension SyncAccount {
    /// Stores the deletions that the index has found in the library: the index can be lost, and no server remembers them.
    ///
    /// - Throws: `StoreError`.
    func recordDeletions() throws {
        let (state, found) = (try stateOfNewDeletions(), now())
        try index.forEachBlock(of: server, where: PhotoFilter(isGone: true)) { block in
            try library.add(block.map { PhotoDeletion($0, server: server, state: state, foundAt: found) })
        }
    }

    /// Removes the records of repairs that were interrupted before they deleted a photo. If the photo is deleted later, the
    /// record would undo it. A repair that began during the listing may have deleted a photo that was listed before.
    ///
    /// - Parameter began: When the full listing began.
    /// - Throws: `StoreError`.
    func removeUndoneDeletions(before began: Date) throws {
        let expected = try library.deletions(of: server, state: .purged).filter { $0.foundAt < began }.map(\.photoID)
        guard !expected.isEmpty else { return }
        for id in try photosByID(expected).keys {
            try library.removeDeletion(ofPhoto: id, server: server)
        }
    }

    /// A server with the ownership defect deletes photos by itself (photosync contract 3.5), so that a deletion is no
    /// decision of the user.
    fileprivate func stateOfNewDeletions() throws -> PhotoDeletion.State {
        try index.ownsUploads(at: server) == false ? .purged : .deleted
    }
}

extension PhotoDeletion {
    fileprivate init(_ photo: PhotoRecord, server: String, state: State, foundAt: Date) {
        self.init(
            server: server,
            photoID: photo.id,
            sha256: photo.sha256,
            name: photo.originalFilename,
            state: state,
            foundAt: foundAt
        )
    }

    fileprivate init(_ copy: PhotoCopy, state: State, foundAt: Date) {
        self.init(
            server: copy.server,
            photoID: copy.photoID,
            sha256: copy.serverSHA256,
            name: copy.path.fileName,
            state: state,
            foundAt: foundAt
        )
    }
}

/// Photos that this account had on the server and has no longer, by the evidence of this machine:
///
/// - deletions stored in the library;
/// - photos that the index has as gone, which a listing interrupted right after its end did not store yet;
/// - copies, also rewritten ones, of photos that a complete listing does not contain.
struct DeletedPhotos {
    let account: SyncAccount
    private let isComplete: Bool
    private let state: PhotoDeletion.State
    private let foundAt: Date

    /// Blocks its thread, as the methods do.
    init(_ account: SyncAccount) throws {
        self.account = account
        // Without a complete listing of this user, an index without a photo is no evidence.
        isComplete = try account.state()?.lastFullAt != nil
        state = try account.stateOfNewDeletions()
        foundAt = account.now()
    }

    /// By digest of the local bytes, the last deletion of a photo with these bytes. Whether another photo with them is on the
    /// server now is up to the caller.
    func withDigests(_ digests: [String]) throws -> [String: PhotoDeletion] {
        let (library, server) = (account.library, account.server)
        var found = Dictionary(grouping: try library.deletions(withDigests: digests, server: server), by: \.sha256)
        guard isComplete else { return found.compactMapValues(Self.last) }
        let copies = try library.copies(withDigests: digests, server: server).filter { $0.state == .present }
        let listed = try account.photosByID(copies.map(\.photoID))
        let lost = copies.filter { listed[$0.photoID] == nil }
        let known = try stored(lost.map(\.photoID))
        for copy in lost {
            let deletion = known[copy.photoID] ?? PhotoDeletion(copy, state: state, foundAt: foundAt)
            if let digest = copy.sha256 { found[digest, default: []].append(deletion) }
        }
        for photo in try account.index.photos(withDigests: digests, of: server, areGone: true)
        where !(found[photo.sha256] ?? []).contains(where: { $0.photoID == photo.id }) {
            found[photo.sha256, default: []].append(of(photo))
        }
        return found.compactMapValues(Self.last)
    }

    /// By id, the deletions of these photos; none for a photo that is on the server, or that was never seen there.
    func withIDs(_ ids: [String]) throws -> [String: PhotoDeletion] {
        var found = try stored(ids)
        guard isComplete else { return found }
        for photo in try account.index.photos(ids, of: account.server, areGone: true) where found[photo.id] == nil {
            found[photo.id] = of(photo)
        }
        let listed = try account.photosByID(ids)
        for copy in try account.library.copies(ofPhotos: ids, server: account.server)
        where copy.state == .present && listed[copy.photoID] == nil && found[copy.photoID] == nil {
            found[copy.photoID] = PhotoDeletion(copy, state: state, foundAt: foundAt)
        }
        return found.filter { listed[$0.key] == nil }
    }

    func of(_ photo: PhotoRecord) -> PhotoDeletion {
        PhotoDeletion(photo, server: account.server, state: state, foundAt: foundAt)
    }

    private func stored(_ ids: [String]) throws -> [String: PhotoDeletion] {
        let deletions = try account.library.deletions(ofPhotos: ids, server: account.server)
        return Dictionary(deletions.map { ($0.photoID, $0) }) { first, _ in first }
    }

    /// The same bytes can be uploaded and deleted several times; only the last time counts.
    private static func last(_ deletions: [PhotoDeletion]) -> PhotoDeletion? {
        deletions.max { $0.foundAt < $1.foundAt }
    }
}

extension OwnPhotos {
    func deletions(withDigests digests: [String]) async throws(PhotoSyncError) -> [String: PhotoDeletion] {
        try await queue.run { [account] in try DeletedPhotos(account).withDigests(digests) }
    }

    func deletions(withIDs ids: [String]) async throws(PhotoSyncError) -> [String: PhotoDeletion] {
        try await queue.run { [account] in try DeletedPhotos(account).withIDs(ids) }
    }

    /// As if a listing had found these photos of the index gone.
    func deletions(of photos: [String: PhotoRecord]) async throws(PhotoSyncError) -> [String: PhotoDeletion] {
        try await queue.run { [account] in
            let deleted = try DeletedPhotos(account)
            return photos.mapValues { deleted.of($0) }
        }
    }

    /// Stores deletions that are not stored yet.
    func store(_ deletions: [PhotoDeletion]) async throws(PhotoSyncError) {
        guard !deletions.isEmpty else { return }
        try await queue.run { [account] in try account.library.add(deletions) }
    }

    /// The recorded copies at paths with other bytes than these, by path.
    func changedCopies(_ digests: [[UInt8]: String]) async throws(PhotoSyncError) -> [[UInt8]: PhotoCopy] {
        try await queue.run { [account] in
            let copies = try account.library.copies(at: Array(digests.keys), server: account.server)
                .filter { $0.state == .present && $0.sha256 != nil }
            let unchanged = Set(copies.filter { $0.sha256 == digests[$0.path] }.map(\.path))
            let changed = copies.filter { !unchanged.contains($0.path) }
            return Dictionary(changed.map { ($0.path, $0) }) { first, _ in first }
        }
    }
}
