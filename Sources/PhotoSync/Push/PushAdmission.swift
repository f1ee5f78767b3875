internal import MediaStore
internal import MediaSystem

/// Determines which missing photos are new. Other photos are uploaded only if the user requests it.
extension PushRun {
    /// Reports photos that were deleted on the server, and copies that changed since they were uploaded or downloaded.
    /// The bytes of `missing` are not on the server; `known` contains the indexed photos with these bytes. Returns the
    /// photos to upload.
    func admit(_ missing: [PhotoToSend], _ known: [String: PhotoRecord]) async throws -> [PhotoToSend] {
        guard !missing.isEmpty else { return [] }
        return try await withoutRecognized(withoutChanged(withoutDeleted(missing, known)))
    }

    // MARK: Deleted on the server

    private func withoutDeleted(
        _ photos: [PhotoToSend],
        _ known: [String: PhotoRecord]
    ) async throws -> [PhotoToSend] {
        var deletions: [String: PhotoDeletion] = [:]
        // An incremental pull does not list deletions (photosync contract section 5).
        let missing = Set(photos.map(\.digest.sha256))
        let vanished = known.filter { missing.contains($0.key) }
        if options.isDryRun {
            deletions = try await own.deletions(of: vanished)
        } else if !vanished.isEmpty, !hasListedAll {
            hasListedAll = true
            try await pull(isFull: true)
        }
        deletions.merge(try await own.deletions(withDigests: photos.map(\.digest.sha256))) { first, stored in
            stored.photoID == first.photoID ? stored : first
        }
        var rest: [PhotoToSend] = []
        var held: [(PhotoToSend, PhotoDeletion)] = []
        for photo in photos {
            if let deletion = deletions[photo.digest.sha256], !isSentAgain(photo, deletion) {
                held.append((photo, deletion))
            } else {
                rest.append(photo)
            }
        }
        try await endDeleted(held)
        return rest
    }

    func endDeleted(_ photos: [(PhotoToSend, PhotoDeletion)]) async throws {
        if !options.isDryRun { try await own.store(photos.map(\.1)) }
        for (photo, deletion) in photos {
            end(photo, deletion.state == .accepted ? .forgotten : .deleted, photoID: deletion.photoID)
        }
    }

    /// Whether to upload a deleted photo again; after an accepted deletion, only if the user specified the file.
    func isSentAgain(_ photo: PhotoToSend, _ deletion: PhotoDeletion) -> Bool {
        switch deletion.state {
        case .purged: true
        case .deleted: options.restores
        case .accepted: options.restores && photo.candidate.isNamed
        }
    }

    // MARK: Changed copies

    private func withoutChanged(_ photos: [PhotoToSend]) async throws -> [PhotoToSend] {
        guard !options.sendsChanged, !photos.isEmpty else { return photos }
        let digests = Dictionary(photos.map { ($0.candidate.absolutePath, $0.digest.sha256) }) { first, _ in first }
        let changed = try await own.changedCopies(digests)
        return photos.filter { photo in
            guard let copy = changed[photo.candidate.absolutePath] else { return true }
            endChanged(photo, photoID: copy.photoID)
            return false
        }
    }

    /// Marks empty files that had content when they were uploaded or downloaded. Such files cannot be uploaded even on
    /// request.
    func withChanged(_ ended: [PushItem]) async throws(PhotoSyncError) -> [PushItem] {
        func absolutePath(_ item: PushItem) -> [UInt8] {
            PushCandidate(path: item.path, isNamed: false).absolutePath
        }
        let empty = ended.filter { $0.error?.code == .emptyFile }
        guard !empty.isEmpty else { return ended }
        // The empty string is not the digest of any copy.
        let changed = try await own.changedCopies(
            Dictionary(empty.map { (absolutePath($0), "") }) { first, _ in first }
        )
        return ended.map { item in
            guard item.error?.code == .emptyFile, let copy = changed[absolutePath(item)] else { return item }
            var item = item
            item.photoID = copy.photoID
            if options.sendsChanged {
                item.state = .failed
            } else {
                item.state = .changed
                item.error = PhotoSyncError(.changedSinceUpload, path: item.path).with(\.photoID, copy.photoID)
            }
            return item
        }
    }

    func endChanged(_ photo: PhotoToSend, photoID: String) {
        let error = PhotoSyncError(.changedSinceUpload, path: photo.candidate.path).with(\.photoID, photoID)
        end(photo.item(.changed, photoID: photoID, error: error))
    }
}
