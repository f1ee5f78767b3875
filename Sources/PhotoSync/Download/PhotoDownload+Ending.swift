internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem

/// What becomes of the bytes that have come.
extension PhotoDownload {
    // MARK: Judging

    /// The four rules of contract section 6.
    ///
    /// - Returns: The digest of the photo, as it was uploaded or as the server has rewritten it; nil for bytes that are
    ///   corrupt.
    func judge(_ state: DownloadReceiver.State, _ pipeline: HashPipeline) async throws(PhotoSyncError) -> String? {
        guard let total = state.head?.totalBytes, state.position == total else {
            throw PhotoSyncError(
                .lengthMismatch,
                detail: "\(state.position) bytes of \(state.head?.totalBytes ?? 0)",
                photoID: photo.id
            )
        }
        let digest: String
        do {
            digest = try await pipeline.finish().digest.hex
        } catch {
            throw PhotoSyncError(.internalError, detail: "\(error)")
        }
        if digest == photo.sha256 { return digest }
        // The server stamps every download. A page of a proxy or a hotel is not what it has rewritten.
        guard state.isGenuine, total > 0 else {
            throw PhotoSyncError(
                .unexpectedAnswer,
                detail: total == 0 ? "an empty file" : "an answer without X-PhotoSync-Hash",
                httpStatus: state.head?.status,
                photoID: photo.id
            )
        }
        return total == photo.fileSize ? nil : digest
    }

    // MARK: The end

    mutating func finish(_ file: PartialFile, digest: String) async throws(PhotoSyncError) {
        SyncKillPoint.downloadAfterBody.reach()
        let time = photo.takenAt.microseconds
        let sealed = try await onDisk { () throws(FileWriteError) in
            try file.seal(modificationMicroseconds: time)
        }
        plan.copy.state = .written
        plan.copy.sha256 = digest
        plan.copy.identity = sealed
        try await keep(plan.copy)
        try await publish(file, digest: digest)
    }

    mutating func publish(_ file: PartialFile, digest: String) async throws(PhotoSyncError) {
        SyncKillPoint.downloadWritten.reach()
        while true {
            let name = plan.place.name
            do {
                let published = try await onDisk { () throws(FileWriteError) in try file.publish(as: name) }
                SyncKillPoint.downloadRenamed.reach()
                try await becomePresent(digest, identity: published)
                return
            } catch {
                // Somebody else's file has come there meanwhile.
                guard error.code == .targetExists else { throw error }
            }
            do {
                plan = try await context.planner.rename(plan)
            } catch {
                throw PhotoSyncError(error)
            }
        }
    }

    mutating func becomePresent(_ digest: String, identity: FileIdentity) async throws(PhotoSyncError) {
        forget()
        plan.copy.state = .present
        plan.copy.temporaryName = nil
        plan.copy.sha256 = digest
        plan.copy.identity = identity
        try await keep(plan.copy)
        context.digests.add(digest, of: identity, at: plan.copy.path)
        await context.planner.landed(plan)
        item.describe(plan.copy)
        item.state = digest == photo.sha256 ? .verified : .rewritten
    }

    /// A part is worth keeping when a later try can go on with it.
    mutating func keepPart(of file: PartialFile, after error: PhotoSyncError) async throws(PhotoSyncError) {
        if plan.copy.state == .written { return }
        let isUseful =
            switch error.code {
            case .notFound, .forbidden, .checksumMismatch, .unexpectedAnswer, .storeUnusable: false
            default: (try? resumable(file)).map { $0 > 0 } ?? false
            }
        if isUseful {
            // Only a part that is on the disk is worth more than its length.
            let kept = try? await onDisk { () throws(FileWriteError) in try file.settle() }
            plan.copy.identity = isPartProven ? kept : nil
        } else {
            forget()
            discard(file)
        }
        if error.code != .storeUnusable { try await keep(plan.copy) }
    }

    func discard(_ file: PartialFile) {
        // A file that cannot be removed is written over the next time.
        try? file.discard()
    }

    private func keep(_ copy: PhotoCopy) async throws(PhotoSyncError) {
        do {
            try await library.keep([copy])
        } catch {
            throw PhotoSyncError(error)
        }
    }

    func status(of file: PartialFile) throws(PhotoSyncError) -> FileIdentity {
        do {
            return try file.status()
        } catch {
            throw PhotoSyncError(error)
        }
    }

    private func onDisk<Value: Sendable>(
        _ work: @escaping @Sendable () throws(FileWriteError) -> Value
    ) async throws(PhotoSyncError) -> Value {
        do {
            return try await BlockingWork.run(work)
        } catch {
            throw PhotoSyncError(error)
        }
    }
}
