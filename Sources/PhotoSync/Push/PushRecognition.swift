internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// A file that its stamp identifies as a copy of a photo. The stamp is the ID that the server writes into the copies
/// that it rewrites (photosync contract, new fact 1). Another machine downloaded the file, so this machine has no
/// record of it.
private struct StampedFile: Sendable {
    var photo: PhotoToSend
    var id: String
}

extension PushRun {
    /// Reports files whose stamp and length identify them as copies of photos on the server. An edited copy keeps its
    /// stamp, so a copy with a different length counts as changed.
    ///
    /// - Returns: The photos to upload.
    /// - Throws: Errors from the stores.
    func withoutRecognized(_ photos: [PhotoToSend]) async throws -> [PhotoToSend] {
        let stamped = await Self.stamped(photos)
        let ids = Array(Set(stamped.map(\.id)))
        guard !ids.isEmpty else { return photos }
        let listed = try await own.listed(ids: ids)
        let deletions = try await own.deletions(withIDs: ids)
        let lengths = await lengths(of: Array(listed.keys))
        let rewritten = try await own.rewrittenCopies(Array(listed.keys))
        try stopIfRequested()
        var present: [(PhotoToSend, PhotoRecord)] = []
        var deleted: [(PhotoToSend, PhotoDeletion)] = []
        for file in stamped {
            if let record = listed[file.id], let length = lengths[file.id] {
                let known = rewritten[file.id] ?? []
                switch length {
                case .success(file.photo.digest.identity.size)
                where known.isEmpty || known.contains(file.photo.digest.sha256):
                    present.append((file.photo, record))
                case .success where options.sendsChanged: break
                case .success: endChanged(file.photo, photoID: file.id)
                case .failure(let error):
                    // Fails the file, since it may be a copy and must not be uploaded as a new photo.
                    end(file.photo.failed(error.at(file.photo.candidate.path), photoID: file.id))
                }
            } else if let deletion = deletions[file.id], !isSentAgain(file.photo, deletion) {
                deleted.append((file.photo, deletion))
            }
        }
        try await endDeleted(deleted)
        try await endPresent(present)
        return photos.filter(isOpen)
    }

    private static func stamped(_ photos: [PhotoToSend]) async -> [StampedFile] {
        // One thread per photo would cost more than reading the files.
        let cores = ProcessInfo.processInfo.activeProcessorCount
        return await withBoundedTasks(0..<cores, limit: cores) { (core: Int) -> [StampedFile] in
            await BlockingWork.run {
                stride(from: core, to: photos.count, by: cores).compactMap { position in
                    (try? SourceFile(path: photos[position].candidate.path)).flatMap { PhotoStamp.read(from: $0) }
                        .map { StampedFile(photo: photos[position], id: $0) }
                }
            }
        }.flatMap(\.self)
    }

    private func lengths(of ids: [String]) async -> [String: Result<Int64, PhotoSyncError>] {
        let (client, control) = (account.client, control)
        let lengths = await withBoundedTasks(ids, limit: options.jobs) { id in
            await Result<Int64, PhotoSyncError>(awaiting: { () async throws(PhotoSyncError) in
                switch try await client.storedFile(of: id, control: control) {
                case .present(let byteCount): return byteCount
                case .missing: throw PhotoSyncError(.undeliverable).with(\.photoID, id)
                }
            })
        }
        return Dictionary(zip(ids, lengths)) { first, _ in first }
    }
}

extension OwnPhotos {
    /// The photos in this user's listing with these IDs.
    fileprivate func listed(ids: [String]) async throws(PhotoSyncError) -> [String: PhotoRecord] {
        try await StoreWork.run { [account] in
            // A dry run does not pull, so the index may have another user's photos.
            try account.state() == nil ? [:] : account.photosByID(ids)
        }
    }

    /// The digests of verified copies that the server had rewritten, by ID. A file with the same stamp and length but
    /// different bytes is damaged.
    fileprivate func rewrittenCopies(_ ids: [String]) async throws(PhotoSyncError) -> [String: Set<String>] {
        try await StoreWork.run { [account] in
            let copies = try account.library.copies(ofPhotos: ids, server: account.server)
                .filter { $0.state == .present && $0.source == .downloaded && $0.sha256 != $0.serverSHA256 }
            return Dictionary(grouping: copies, by: \.photoID).mapValues { Set($0.compactMap(\.sha256)) }
        }
    }
}
