internal import Foundation
internal import MediaFiles
internal import MediaStore

extension SyncAccount {
    /// Stores in the library the deletions found by the index, since the index can be lost and the server keeps no
    /// record of them.
    ///
    /// - Throws: `StoreError`.
    func recordDeletions() throws {
        let (state, found) = (try stateOfNewDeletions(), now())
        try index.forEachBlock(of: server, where: PhotoFilter(isGone: true)) { block in
            try library.add(block.map { PhotoDeletion($0, server: server, state: state, foundAt: found) })
        }
    }

    /// Removes the records of accepted deletions of photos that are listed again; a later deletion would otherwise
    /// count as accepted. After a full listing, also removes the records of repairs that were interrupted before they
    /// deleted a photo; if the photo is deleted later, the record would cause a push to upload it again. A repair that
    /// began during the listing may have deleted a photo that was already listed, so its record is kept. `began` is
    /// when the listing began.
    func removeUndoneDeletions(before began: Date, isFull: Bool) throws {
        var deletions = try library.deletions(of: server, state: .accepted)
        if isFull { deletions += try library.deletions(of: server, state: .purged).filter { $0.foundAt < began } }
        guard !deletions.isEmpty else { return }
        for id in try photosByID(deletions.map(\.photoID)).keys {
            try library.removeDeletion(ofPhoto: id, server: server)
        }
    }

    /// A server with the ownership defect deletes photos by itself (photosync contract 3.5), so a deletion there may
    /// not be the user's decision.
    fileprivate func stateOfNewDeletions() throws -> PhotoDeletion.State {
        try index.ownsUploads(at: server) == false ? .purged : .deleted
    }
}

extension PhotoDeletion {
    init(_ photo: PhotoRecord, server: String, state: State, foundAt: Date) {
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

/// Photos that were in this account and no longer are, according to the records on this machine:
///
/// - deletions stored in the library;
/// - photos that are marked as deleted in the index but not yet stored in the library, because the pull was interrupted
///   right after its listing ended;
/// - copies, including rewritten ones, of photos that a complete listing does not contain.
struct DeletedPhotos {
    let account: SyncAccount
    private let isComplete: Bool
    private let state: PhotoDeletion.State
    private let foundAt: Date

    /// Blocks, as do the methods.
    init(_ account: SyncAccount) throws {
        self.account = account
        // Without a complete listing for this user, absence from the index proves nothing.
        isComplete = try account.state()?.lastFullAt != nil
        state = try account.stateOfNewDeletions()
        foundAt = account.now()
    }

    /// For each of these digests of local bytes, the last deletion of a photo with those bytes. The caller must check
    /// whether another photo with the same bytes is on the server.
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

    /// The deletions of these photos, by ID; a photo that is on the server, or that never was, has no deletion.
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
        try await StoreWork.run { [account] in try DeletedPhotos(account).withDigests(digests) }
    }

    func deletions(withIDs ids: [String]) async throws(PhotoSyncError) -> [String: PhotoDeletion] {
        try await StoreWork.run { [account] in try DeletedPhotos(account).withIDs(ids) }
    }

    /// Returns the deletions that would be recorded by a listing from which these photos in the index are missing.
    func deletions(of photos: [String: PhotoRecord]) async throws(PhotoSyncError) -> [String: PhotoDeletion] {
        try await StoreWork.run { [account] in
            let deleted = try DeletedPhotos(account)
            return photos.mapValues { deleted.of($0) }
        }
    }

    /// Stores deletions that have not been stored yet.
    func store(_ deletions: [PhotoDeletion]) async throws(PhotoSyncError) {
        guard !deletions.isEmpty else { return }
        try await StoreWork.run { [account] in try account.library.add(deletions) }
    }

    /// The recorded copies at these paths whose bytes differ from the given digests, by path.
    func changedCopies(_ digests: [[UInt8]: String]) async throws(PhotoSyncError) -> [[UInt8]: PhotoCopy] {
        try await StoreWork.run { [account] in
            let copies = try account.library.copies(at: Array(digests.keys), server: account.server)
                .filter { $0.state == .present && $0.sha256 != nil }
            let unchanged = Set(copies.filter { $0.sha256 == digests[$0.path] }.map(\.path))
            let changed = copies.filter { !unchanged.contains($0.path) }
            return Dictionary(changed.map { ($0.path, $0) }) { first, _ in first }
        }
    }
}
