internal import MediaCore
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Dependencies shared by all photos of a run.
struct DownloadContext: Sendable {
    let session: DownloadSession
    let target: TargetDirectory
    let planner: DownloadPlanner
    let digests: DigestKeeper
}

/// Downloads one photo: attempts, verification, rename.
///
/// The order of steps is crash-safe: the library reserves the name before the first request; the bytes are synced and
/// their digest is stored in the library before the rename; the library records the file as present only after the
/// rename.
struct PhotoDownload {
    /// Minimum size for storing resume information in the library; smaller files are faster to download again.
    private static let worthResuming: Int64 = 1 << 20
    /// Number of responses without the requested bytes after which the download fails.
    private static let freshStarts = 3

    let context: DownloadContext
    var plan: PlannedDownload
    var item: DownloadItem
    /// Whether the first bytes of the file are known to be those that were received. After a power loss, the file may
    /// have the right length but the wrong bytes.
    var isPartVerified = false

    var session: DownloadSession { context.session }
    var library: LibraryStore { session.account.library }
    var photo: PhotoRecord { plan.photo }

    init(_ plan: PlannedDownload, in context: DownloadContext) {
        self.context = context
        self.plan = plan
        item = DownloadItem(plan, state: .failed)
    }

    /// Downloads the photo, and returns its result.
    mutating func perform() async -> DownloadItem {
        do {
            try await fetch()
        } catch {
            item.fail(error.at(photo: photo.id), session.options)
        }
        return item
    }

    private mutating func fetch() async throws(PhotoSyncError) {
        SyncFailpoint.downloadPlanned.reach()
        guard !session.isStopped else { throw PhotoSyncError(.cancelled) }
        let directory = try openDirectory()
        if try await adoptRenamed(in: directory) { return }
        let file = try PhotoSyncError.writing { () throws(FileWriteError) in
            try PartialFile.open(plan.temporaryName, in: directory)
        }
        // Another process may have downloaded the photo before this one acquired the lock.
        if try presentCopy() {
            discard(file)
            return
        }
        isPartVerified = try status(of: file) == plan.copy.identity
        do {
            if try await adoptWritten(file) { return }
            try await receive(file)
        } catch {
            try await keepPart(of: file, after: error)
            throw error
        }
    }

    // MARK: Before the first byte

    func openDirectory() throws(PhotoSyncError) -> TargetDirectory {
        let month = try PhotoSyncError.writing { () throws(FileWriteError) in
            try context.target.subdirectory(plan.place.year, creating: true)?
                .subdirectory(plan.place.month, creating: true)
        }
        guard let month else { throw PhotoSyncError(.targetUnusable, path: context.target.path) }
        if let abandoned = plan.abandoned {
            // In use by another process, or not created by mediactl: keep it.
            try? PartialFile.open(abandoned, in: month).discard()
        }
        return month
    }

    /// Finishes a photo whose run was interrupted right after the rename.
    private mutating func adoptRenamed(in directory: TargetDirectory) async throws(PhotoSyncError) -> Bool {
        guard plan.copy.state == .written, let digest = plan.copy.sha256, let known = plan.copy.identity,
            let found = FileIdentity(ofRegularFile: plan.copy.path), found.isProbablyUnchanged(since: known)
        else { return false }
        try PhotoSyncError.writing { () throws(FileWriteError) in
            // If a rename is a link followed by an unlink, the run may have been interrupted between the two.
            let temporary = Array(plan.temporaryName.utf8)
            if try directory.status(of: temporary)?.isProbablyUnchanged(since: known) == true {
                try directory.remove(temporary)
            }
        }
        try await becomePresent(digest, identity: FileIdentity(ofRegularFile: plan.copy.path) ?? found)
        return true
    }

    /// Finishes a photo whose run was interrupted between the last byte and the rename.
    private mutating func adoptWritten(_ file: PartialFile) async throws(PhotoSyncError) -> Bool {
        guard plan.copy.state == .written, let digest = plan.copy.sha256 else { return false }
        if try status(of: file) == plan.copy.identity {
            try await publish(file, digest: digest)
            return true
        }
        // The file was modified: start over.
        plan.copy.state = .planned
        plan.copy.sha256 = nil
        plan.copy.identity = nil
        plan.copy.lastModified = nil
        return false
    }

    private mutating func presentCopy() throws(PhotoSyncError) -> Bool {
        let copies = try PhotoSyncError.stored(library.copies(ofPhotos: [photo.id], server: session.account.server))
        guard let copy = copies.first(where: { $0.state == .present && $0.path == plan.copy.path }),
            LocalCopies.condition(of: copy) == .unchanged
        else { return false }
        item.describe(copy)
        item.state = .present
        return true
    }

    // MARK: Receiving

    private mutating func receive(_ file: PartialFile) async throws(PhotoSyncError) {
        var backoff = Backoff(session.options.retry)
        var freshStarts = 0
        var isSecondChance = false
        while true {
            guard !session.isStopped else { throw PhotoSyncError(.cancelled) }
            let offset = try resumable(file)
            if offset == 0 { isPartVerified = true }
            let pipeline = try await prepare(file, from: offset)
            item.attempts += 1
            let (outcome, receiver) = await request(file, from: offset, pipeline: pipeline)
            let state = receiver.result
            if let head = state.head { note(head) }
            if state.head?.status == 200 { isPartVerified = true }
            item.bytesReceived += state.received
            if offset > 0, state.head?.status == 206 { item.isResumed = true }

            if case .failure(let error) = outcome, !error.isStaleRange {
                guard session.account.client.mayRetry(after: error), let wait = backoff.next() else {
                    throw await explained(error)
                }
                session.account.client.noteRetry(after: error, delay: wait)
                if await session.control.waitForStop(upTo: wait) { throw PhotoSyncError(.cancelled) }
                continue
            }
            guard case .success(let head) = outcome, head.status != 416 else {
                freshStarts += 1
                guard freshStarts < Self.freshStarts else {
                    throw PhotoSyncError(
                        .unexpectedResponse,
                        detail: "\(freshStarts) responses did not have the requested bytes"
                    )
                }
                forget()
                continue
            }
            let (digest, evidence) = try await receiver.judge()
            switch evidence {
            case .photo: return try await finish(file, digest: digest)
            case .otherPhoto(let stamp):
                throw PhotoSyncError(.wrongPhoto, detail: "the file contains the ID \(stamp)", value: stamp)
            case .unverified(let reason), .unchecked(let reason):
                // A file with the length of the uploaded bytes but different content was damaged in transfer.
                guard receiver.result.position == photo.fileSize else {
                    return try await finishUnverified(file, digest: digest, reason: reason)
                }
                forget()
            }
            guard !isSecondChance else {
                throw PhotoSyncError(.checksumMismatch, detail: "two downloads had different bytes")
            }
            isSecondChance = true
        }
    }

    /// Number of trusted bytes from an earlier attempt. At least one byte is left to request, so the response shows
    /// whether the server's file is unchanged.
    func resumable(_ file: PartialFile) throws(PhotoSyncError) -> Int64 {
        guard plan.copy.lastModified != nil, let total = plan.copy.totalBytes else { return 0 }
        // The digest of a rewritten file is unknown, so every byte must have been received by this process.
        guard isPartVerified || total == photo.fileSize else { return 0 }
        let size = try status(of: file).size
        return size <= total ? min(size, total - 1) : 0
    }

    private func prepare(_ file: PartialFile, from offset: Int64) async throws(PhotoSyncError) -> HashPipeline {
        do {
            try file.truncate(to: offset)
            let pipeline = try HashPipeline()
            if offset > 0 {
                try await pipeline.append(file: file.descriptor, from: 0, byteCount: offset)
            }
            return pipeline
        } catch let error as FileWriteError {
            throw PhotoSyncError(error)
        } catch is CancellationError {
            throw PhotoSyncError(.cancelled)
        } catch {
            throw PhotoSyncError(.targetUnusable, detail: "\(error)", path: file.path)
        }
    }

    /// Sends one request, and stores the head of its response in the library during the transfer.
    private func request(
        _ file: PartialFile,
        from offset: Int64,
        pipeline: HashPipeline
    ) async -> (Result<DownloadHead, PhotoSyncError>, DownloadReceiver) {
        let (heads, noting) = AsyncStream<DownloadHead>.makeStream()
        let receiver = DownloadReceiver(
            photo,
            to: file,
            from: offset,
            expectedTotal: plan.copy.totalBytes,
            pipeline: pipeline,
            onBegin: { noting.yield($0) }
        )
        async let noted: Void = keepFacts(heads)
        let outcome = await Result(awaiting: { () async throws(PhotoSyncError) in
            try await session.account.client.download(
                id: photo.id,
                from: offset,
                ifRange: offset > 0 ? plan.copy.lastModified : nil,
                receiver: receiver,
                control: session.control.linked(),
                progress: { [report = session.report] _ in report.received(receiver.takeUnreported()) }
            )
        })
        noting.finish()
        await noted
        session.report.received(receiver.takeUnreported())
        return (outcome, receiver)
    }

    /// Stores the information needed to resume after a crash during the transfer.
    private func keepFacts(_ heads: AsyncStream<DownloadHead>) async {
        for await head in heads where (head.totalBytes ?? 0) >= Self.worthResuming && head.lastModified != nil {
            var copy = plan.copy
            copy.identity = nil
            copy.lastModified = head.lastModified
            copy.totalBytes = head.totalBytes
            // A store failure is detected when the result is stored.
            try? await library.keep([copy])
        }
    }

    private mutating func note(_ head: DownloadHead) {
        plan.copy.lastModified = head.lastModified
        plan.copy.totalBytes = head.totalBytes
        plan.copy.identity = nil
    }

    mutating func forget() {
        plan.copy.lastModified = nil
        plan.copy.totalBytes = nil
    }
}

extension PhotoSyncError {
    /// Whether all other photos would fail with the same error.
    func endsDownloads(_ options: Download.Options) -> Bool {
        switch self.code {
        case .unauthorized, .notLoggedIn, .setupRequired, .redirected, .diskFull, .storeUnusable: true
        case .transport: transport?.isBeforeRequest == true
        // The retries have used up the time limit; each additional photo would wait that long again.
        case .serverError: self.isRetryable && options.retry.timeLimit != nil
        default: false
        }
    }

    /// A 206 with a range other than the requested one.
    fileprivate var isStaleRange: Bool { self.code == .unexpectedResponse && self.httpStatus == 206 }
}

extension PhotoDownload {
    /// Refines a 404 for a photo that is still in the server's database: its file is missing (contract, new fact 2).
    func explained(_ error: PhotoSyncError) async -> PhotoSyncError {
        guard error.code == .notFound else { return error }
        guard (try? await session.account.client.isListed(photo.id, control: session.control.linked())) == true else {
            return error
        }
        var explained = error
        explained.code = .undeliverable
        explained.detail = ""
        return explained
    }

    // MARK: Finishing

    mutating func finish(_ file: PartialFile, digest: String) async throws(PhotoSyncError) {
        SyncFailpoint.downloadAfterBody.reach()
        let time = photo.takenAt.microseconds
        let sealed = try await StoreWork.run { try file.seal(modificationMicroseconds: time) }
        plan.copy.state = .written
        plan.copy.sha256 = digest
        plan.copy.identity = sealed
        try await keep(plan.copy)
        try await publish(file, digest: digest)
    }

    mutating func publish(_ file: PartialFile, digest: String) async throws(PhotoSyncError) {
        SyncFailpoint.downloadWritten.reach()
        while true {
            let name = plan.place.name
            do throws(PhotoSyncError) {
                let published = try await StoreWork.run { try file.publish(as: name) }
                SyncFailpoint.downloadRenamed.reach()
                try await becomePresent(digest, identity: published)
                return
            } catch {
                // A different file was created under this name in the meantime.
                guard error.code == .targetExists else { throw error }
            }
            let taken = plan
            plan = try await PhotoSyncError.storing(await context.planner.rename(taken))
        }
    }

    mutating func becomePresent(_ digest: String, identity: FileIdentity) async throws(PhotoSyncError) {
        forget()
        removeUnverified()
        plan.copy.state = .present
        plan.copy.temporaryName = nil
        plan.copy.sha256 = digest
        plan.copy.identity = identity
        try await keep(plan.copy)
        context.digests.add(digest, of: identity, at: plan.copy.path, writtenAt: session.account.now())
        await context.planner.landed(plan)
        item.describe(plan.copy)
        item.state = digest == photo.sha256 ? .verified : .rewritten
    }

    /// Keeps the partial file if a later attempt can resume it; deletes it otherwise.
    mutating func keepPart(of file: PartialFile, after error: PhotoSyncError) async throws(PhotoSyncError) {
        if plan.copy.state == .written || plan.copy.state == .unverified { return }
        let isUseful =
            switch error.code {
            case .notFound, .forbidden, .checksumMismatch, .unexpectedResponse, .storeUnusable, .wrongPhoto,
                .undeliverable:
                false
            default: (try? resumable(file)).map { $0 > 0 } ?? false
            }
        if isUseful {
            // Only synced bytes can be trusted after a crash.
            let kept = try? await StoreWork.run { try file.sync() }
            plan.copy.identity = isPartVerified ? kept : nil
        } else {
            forget()
            discard(file)
        }
        if error.code != .storeUnusable { try await keep(plan.copy) }
    }

    func discard(_ file: PartialFile) {
        // If the file cannot be removed, the next attempt overwrites it.
        try? file.discard()
    }

    func keep(_ copy: PhotoCopy) async throws(PhotoSyncError) {
        try await PhotoSyncError.storing(await library.keep([copy]))
    }

    func status(of file: PartialFile) throws(PhotoSyncError) -> FileIdentity {
        try PhotoSyncError.writing { () throws(FileWriteError) in try file.status() }
    }
}
