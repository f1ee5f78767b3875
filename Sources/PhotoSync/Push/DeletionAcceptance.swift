internal import Foundation
internal import MediaFiles
public import MediaStore
internal import MediaSystem

/// Accepts that photos were deleted on the server: pushes stop counting them, and `Verification` stops reporting their
/// copies. Neither the local files nor the server are changed.
public struct DeletionAcceptance: Sendable {
    /// The result for one photo, or for an invalid argument.
    public struct Item: Sendable {
        /// The result.
        public enum State: String, Sendable, CaseIterable {
            case forgotten
            /// Dry run: would be accepted.
            case planned
            /// The target is not a photo that was deleted on the server.
            case failed
        }

        /// The argument, or a file in the specified directory.
        public var target: [UInt8]
        public var state: State
        public var photoID: String?
        /// The name as uploaded; nil if unknown. Untrusted text.
        public var fileName: String?
        public var error: PhotoSyncError?
    }

    let account: SyncAccount
    let hashes: HashCache

    /// Nothing is sent. Files with a digest in `hashes` are not read again.
    public init(_ account: SyncAccount, hashes: HashCache) {
        self.account = account
        self.hashes = hashes
    }

    /// Accepts the deletions of photos by ID, by file, or of all files in a directory. The file of a recorded copy may be
    /// missing. A dry run stores nothing.
    ///
    /// - Returns: One item per photo, and one per argument that is not a deleted photo. Files in a directory that were
    ///   not deleted on the server are omitted.
    /// - Throws: `PhotoSyncError` `.storeUnusable`, `.busy`.
    public func run(_ targets: [[UInt8]], isDryRun: Bool = false) async throws(PhotoSyncError) -> [Item] {
        var items: [Item] = []
        var deletions: [PhotoDeletion] = []
        for target in targets {
            let found = try await find(target)
            if found.isEmpty {
                items.append(try await refusal(of: target))
            }
            for (path, deletion) in found {
                deletions.append(deletion)
                items.append(
                    Item(
                        target: path,
                        state: isDryRun ? .planned : .forgotten,
                        photoID: deletion.photoID,
                        fileName: deletion.name.isEmpty ? nil : deletion.name
                    )
                )
            }
        }
        if !isDryRun { try await accept(deletions) }
        return items
    }

    // MARK: Lookup

    private func find(_ target: [UInt8]) async throws(PhotoSyncError) -> [([UInt8], PhotoDeletion)] {
        let id = String(decoding: target, as: UTF8.self)
        let named = try await StoreWork.run { [account] in try DeletedPhotos(account).withIDs([id])[id] }
        if let named { return [(target, named)] }
        let recorded = try await ofCopies(at: target)
        guard recorded.isEmpty else { return recorded.map { (target, $0) } }
        var found: [([UInt8], PhotoDeletion)] = []
        let candidates = await PushPlan.make([target], options: Push.Options()).candidates
        do {
            let hashing = TreeHashing(hashes: hashes, now: account.now)
            try await hashing.forEachBlock(of: candidates.map(\.path), onRead: { _ in }) { block, outcomes in
                found += try await deleted(candidates[block].map(\.path), outcomes)
            }
        } catch {
            throw PhotoSyncError.ofStore(error)
        }
        return found
    }

    /// Finds deletions by the record of a file that may have changed or be missing.
    private func ofCopies(at path: [UInt8]) async throws(PhotoSyncError) -> [PhotoDeletion] {
        try await StoreWork.run { [account] in
            let copies = try account.copies(storedAt: path)
            return Array(try DeletedPhotos(account).withIDs(copies.map(\.photoID)).values)
        }
    }

    private func deleted(
        _ paths: [[UInt8]],
        _ outcomes: [TreeHashing.Outcome]
    ) async throws(PhotoSyncError) -> [([UInt8], PhotoDeletion)] {
        let digests = outcomes.map { try? $0.get().sha256 }
        let own = OwnPhotos(account)
        let listed = try await own.known(digests.compactMap(\.self))
        let deletions = try await own.deletions(withDigests: digests.compactMap(\.self))
        var found: [([UInt8], PhotoDeletion)] = []
        for (path, digest) in zip(paths, digests) where digest.flatMap({ listed[$0] }) == nil {
            if let deletion = digest.flatMap({ deletions[$0] }) {
                found.append((path, deletion))
            } else {
                found += try await ofCopies(at: path).map { (path, $0) }
            }
        }
        return found
    }

    private func refusal(of target: [UInt8]) async throws(PhotoSyncError) -> Item {
        let id = String(decoding: target, as: UTF8.self)
        let isKnown = try await StoreWork.run { [account] in
            let copies = try account.copies(storedAt: target)
            return try !account.index.photos([id] + copies.map(\.photoID), of: account.server).isEmpty
        }
        let isThere = FileIdentity(ofRegularFile: target) != nil || FileWalk.isDirectory(target)
        let error = PhotoSyncError(
            isKnown || isThere ? .photoNotDeleted : .unknownPhoto,
            value: id
        ).with(\.photoID, id)
        return Item(target: target, state: .failed, error: error)
    }

    // MARK: Storage

    /// The same bytes may have been deleted more than once.
    private func accept(_ deletions: [PhotoDeletion]) async throws(PhotoSyncError) {
        let (library, server) = (account.library, account.server)
        try await StoreWork.run {
            let earlier = try library.deletions(withDigests: deletions.map(\.sha256), server: server)
            try library.keep(
                (earlier + deletions).map { deletion in
                    var accepted = deletion
                    accepted.state = .accepted
                    return accepted
                }
            )
        }
    }
}

extension SyncAccount {
    /// The copies recorded at a path, absolute or relative, including a copy that could not be verified.
    fileprivate func copies(storedAt path: [UInt8]) throws -> [PhotoCopy] {
        let absolute = PushCandidate(path: path, isNamed: true).absolutePath
        let photo = UnverifiedFile.photoPaths(of: absolute)
        let unverified = try library.copies(at: photo, server: server).filter { $0.storedPath == absolute }
        return try library.copies(at: [absolute], server: server) + unverified
    }

    /// The IDs of these photos whose deletion the user has accepted.
    func acceptedDeletions(_ ids: [String]) throws -> Set<String> {
        Set(try library.deletions(ofPhotos: ids, server: server).filter { $0.state == .accepted }.map(\.photoID))
    }
}
