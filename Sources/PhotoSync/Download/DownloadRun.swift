internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Shared by downloads of photos and thumbnails: the target directory, and one task per photo.
struct DownloadSession: Sendable {
    let account: SyncAccount
    let options: Download.Options
    let candidates: DownloadCandidates
    /// Stopped by the caller, and by errors that end the whole run.
    let control: TransferControl
    let report: DownloadReport

    var isStopped: Bool { control.isStopRequested || Task.isCancelled }

    /// - Returns: nil for a dry run into a directory that does not exist.
    func openTarget(_ path: [UInt8], countsBytes: Bool) async throws(PhotoSyncError) -> TargetDirectory? {
        try account.requireListing()
        let target = try PhotoSyncError.writing { () throws(FileWriteError) -> TargetDirectory? in
            let target = try TargetDirectory.open(path, creating: !options.isDryRun)
            // Two concurrent runs would assign two names to one photo, and download it twice.
            if !options.isDryRun { try target?.lock() }
            return target
        }
        if report.wantsProgress, !options.isDryRun {
            let total = try await StoreWork.run { try candidates.total() }
            report.progress { ($0.photos, $0.bytes) = (total.photos, countsBytes ? total.bytes : 0) }
        }
        return target
    }

    /// Plans the candidates block by block, and processes each planned photo in a task, at most `jobs` in parallel.
    /// `plan` reports photos that are not to be downloaded, and returns the others. `canceled` is the result for a
    /// photo that was not started. If an error from `process` ends the run, the running tasks are canceled. Returns the
    /// error that stopped the run.
    func forEach<Work: Sendable>(
        plan: ([DownloadCandidates.Candidate]) async throws(PhotoSyncError) -> [Work],
        canceled: (Work) -> DownloadItem,
        _ process: @escaping @Sendable (Work) async -> DownloadItem
    ) async -> PhotoSyncError? {
        var candidates = candidates
        var failure: PhotoSyncError?
        var planned: ArraySlice<Work> = []
        await withBoundedTasks(
            // A dry run reports in order.
            limit: options.isDryRun ? 1 : options.jobs,
            next: {
                do throws(PhotoSyncError) {
                    while failure == nil, !isStopped {
                        if let work = planned.popFirst() { return work }
                        guard let block = try await candidates.next() else { return nil }
                        planned = try await plan(block)[...]
                    }
                } catch {
                    note(error, &failure)
                }
                for work in planned { endCanceled(canceled(work), because: failure) }
                return nil
            },
            ended: { (item: DownloadItem) in
                if item.endsRun { note(item.error, &failure) }
                if item.state == .cancelled { endCanceled(item, because: failure) }
            }
        ) { [report] (work: Work) -> DownloadItem in
            let item = await process(work)
            if item.state != .cancelled { report.endWanted(item) }
            return item
        }
        return failure
    }

    /// Reports a photo that was not started or was interrupted: by the error that ended the run, or by the caller.
    private func endCanceled(_ item: DownloadItem, because failure: PhotoSyncError?) {
        var item = item
        if let failure, failure.code != .cancelled { item.error = failure }
        report.endWanted(item)
    }

    private func note(_ obstacle: PhotoSyncError?, _ failure: inout PhotoSyncError?) {
        guard let obstacle, failure == nil else { return }
        failure = obstacle
        control.abandon()
    }

    func finish(_ failure: PhotoSyncError?) throws(PhotoSyncError) {
        if let failure { throw failure }
        if isStopped { throw PhotoSyncError(.cancelled) }
    }
}

/// Downloads photos.
struct DownloadRun: Sendable {
    let session: DownloadSession
    let hashes: HashCache

    func perform(to path: [UInt8]) async throws(PhotoSyncError) {
        let (account, isDryRun) = (session.account, session.options.isDryRun)
        let target = try await session.openTarget(path, countsBytes: true)
        if !isDryRun {
            let abandoned = AbandonedDownloads(account: account, copies: session.candidates.copies)
            try await StoreWork.run { try abandoned.remove() }
        }
        let planner = DownloadPlanner(account: account, target: target, root: path, isDryRun: isDryRun)
        let existing = target.map { ExistingFiles(session: session, target: $0) }
        let digests = DigestKeeper(hashes)
        var context: DownloadContext?
        if let target, !isDryRun {
            context = DownloadContext(session: session, target: target, planner: planner, digests: digests)
        }
        let failure = await session.forEach(
            plan: { block throws(PhotoSyncError) in try await plan(block, target, planner, existing) },
            canceled: { DownloadItem($0, state: .cancelled) }
        ) { [context] (plan: PlannedDownload) -> DownloadItem in
            guard let context else { return DownloadItem(plan, state: .planned) }
            var download = PhotoDownload(plan, in: context)
            return await download.perform()
        }
        await digests.finish()
        try session.finish(failure)
    }

    /// Reports photos that are not to be downloaded, and assigns names to the others.
    private func plan(
        _ block: [DownloadCandidates.Candidate],
        _ target: TargetDirectory?,
        _ planner: DownloadPlanner,
        _ existing: ExistingFiles?
    ) async throws(PhotoSyncError) -> [PlannedDownload] {
        var wanted: [(photo: PhotoRecord, names: [PhotoCopy])] = []
        for candidate in block {
            switch candidate {
            case .wanted(let photo, let names): wanted.append((photo, names))
            case .present(let photo, let copy, let doubt): session.report.end(DownloadItem(photo, copy, doubt))
            case .unknown(let id): session.report.end(DownloadItem(unknown: id))
            }
        }
        let copies: [String: PhotoCopy]
        do {
            copies = try await existing?.copies(of: wanted.map(\.photo)) ?? [:]
            if !session.options.isDryRun {
                // The records that contain the names of the partial files are replaced below.
                for (photo, names) in wanted where copies[photo.id] != nil {
                    for name in names where name.state == .planned { AbandonedDownloads.removePart(of: name) }
                }
                try await session.account.library.keep(Array(copies.values))
            }
        } catch {
            throw .ofStore(error)
        }
        for (photo, _) in wanted {
            if let copy = copies[photo.id] { session.report.endWanted(DownloadItem(photo, copy)) }
        }
        let rest = wanted.filter { copies[$0.photo.id] == nil }
        guard !rest.isEmpty else { return [] }
        try target?.requireWritable()
        return try await PhotoSyncError.storing(await planner.plan(rest))
    }
}

extension SyncAccount {
    /// - Throws: `PhotoSyncError` `.neverSynchronized` before the first complete listing.
    func requireListing() throws(PhotoSyncError) {
        guard try state()?.lastCompleteAt == nil else { return }
        throw PhotoSyncError(.neverSynchronized, detail: "no complete listing of \(server)")
    }

    /// Whether all recorded copies in a directory (an absolute path, as bytes) are missing, as if its disk were not
    /// mounted, and at least one photo on the server has no other copy. False if the directory has no recorded copy.
    /// Blocks.
    ///
    /// - Throws: `PhotoSyncError` `.storeUnusable`.
    public func hasLostCopies(in directory: [UInt8]) throws(PhotoSyncError) -> Bool {
        struct Found: Error {}
        var hasLost = false
        do {
            try library.forEachBlockOfCopies(of: server, below: directory) { copies in
                let held = copies.filter { [.present, .replaced].contains($0.state) }
                guard held.allSatisfy({ FileIdentity.isMissing($0.path) }) else { throw Found() }
                let listed = Set(try photosByID(held.map(\.photoID)).keys)
                let elsewhere = try library.copies(ofPhotos: Array(listed), server: server)
                    .filter { $0.state == .present && !FileIdentity.isMissing($0.path) }
                hasLost = hasLost || !listed.subtracting(elsewhere.map(\.photoID)).isEmpty
            }
            return hasLost
        } catch is Found {
            return false
        } catch {
            throw .ofStore(error)
        }
    }
}

extension TargetDirectory {
    func requireWritable() throws(PhotoSyncError) {
        if !isWritable { throw PhotoSyncError(FileWriteError(.denied, path: path)) }
    }
}

extension DownloadItem {
    init(_ photo: PhotoRecord, _ state: State) {
        self.init(id: photo.id, originalFilename: photo.originalFilename, state: state, serverSHA256: photo.sha256)
    }

    init(_ plan: PlannedDownload, state: State) {
        self.init(plan.photo, state)
        path = plan.copy.path
    }

    init(unknown id: String) {
        let error = PhotoSyncError(.unknownPhoto, detail: "not in the index", value: id).with(\.photoID, id)
        self.init(id: id, state: .failed, error: error)
    }

    init(_ photo: PhotoRecord, _ copy: PhotoCopy, _ doubt: DownloadCandidates.Doubt? = nil) {
        self.init(photo, .present)
        describe(copy)
        guard let doubt else { return }
        sha256 = nil
        sizeBytes = nil
        let (code, detail): (OutcomeCode, String) =
            switch doubt {
            case .changed: (.changedSinceUpload, "the local copy was changed")
            case .inaccessible(let reason): (.fileUnreadable, reason)
            }
        error = PhotoSyncError(code, detail: detail, path: copy.path).with(\.photoID, photo.id)
    }

    mutating func describe(_ copy: PhotoCopy) {
        path = copy.path
        sizeBytes = copy.identity?.size
        sha256 = copy.sha256
    }

    /// Sets the result to failed.
    mutating func fail(_ error: PhotoSyncError, _ options: Download.Options) {
        state =
            switch error.code {
            case .cancelled: .cancelled
            case .undeliverable: .undeliverable
            default: .failed
            }
        self.error = error.code == .cancelled ? nil : error
        endsRun = error.endsDownloads(options)
    }
}
