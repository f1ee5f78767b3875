internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

struct DownloadRun: Sendable {
    let account: SyncAccount
    let hashes: HashCache
    let options: Download.Options
    let candidates: DownloadCandidates
    /// Stopped by the caller, and by errors that end the whole run.
    let control: TransferControl
    let teller: DownloadTeller

    func perform(to path: [UInt8]) async throws(PhotoSyncError) {
        try checkSynchronized()
        let target = try openTarget(path)
        if teller.wantsProgress, !options.isDryRun {
            let total = try await reading { try candidates.total() }
            teller.expect(photos: total.photos, bytes: total.bytes)
        }
        let planner = DownloadPlanner(account: account, target: target, root: path, isDryRun: options.isDryRun)
        let digests = DigestKeeper(hashes)
        let feed = CandidateFeed(candidates)
        defer { feed.stop() }
        let context = target.map { target in
            DownloadContext(
                account: account,
                options: options,
                target: target,
                planner: planner,
                digests: digests,
                teller: teller,
                control: control
            )
        }
        let failure = await withTaskGroup(of: PhotoSyncError?.self) { group in
            await work(feed, planner, options.isDryRun ? nil : context, &group)
        }
        await digests.finish()
        if let failure { throw failure }
        if isStopped { throw PhotoSyncError(.cancelled) }
    }

    private var isStopped: Bool { control.isStopRequested || Task.isCancelled }

    // MARK: Before the first photo

    private func checkSynchronized() throws(PhotoSyncError) {
        guard try account.state()?.lastCompleteAt == nil else { return }
        throw PhotoSyncError(.neverSynchronized, detail: "nothing is known of \(account.server) yet")
    }

    /// nil for a dry run into a directory that does not exist.
    private func openTarget(_ path: [UInt8]) throws(PhotoSyncError) -> TargetDirectory? {
        do throws(FileWriteError) {
            let target = try TargetDirectory.open(path, creating: !options.isDryRun)
            guard let target else { return nil }
            if !target.isWritable { throw FileWriteError(.denied, path: target.path) }
            // Two runs would give the same photo two names, and download it twice.
            if !options.isDryRun { try target.lock() }
            return target
        } catch {
            throw PhotoSyncError(error)
        }
    }

    // MARK: The photos

    /// Runs at most `jobs` downloads at a time.
    ///
    /// - Returns: The error that ended the run.
    private func work(
        _ feed: CandidateFeed,
        _ planner: DownloadPlanner,
        _ context: DownloadContext?,
        _ group: inout TaskGroup<PhotoSyncError?>
    ) async -> PhotoSyncError? {
        var failure: PhotoSyncError?
        var running = 0
        while failure == nil, !isStopped {
            let plans: [PlannedDownload]
            do throws(PhotoSyncError) {
                guard let block = try await next(feed) else { break }
                plans = try await plan(block, planner)
            } catch {
                failure = error
                break
            }
            for plan in plans {
                guard let context else {
                    teller.ended(DownloadItem(plan, state: .planned), isCounted: true)
                    continue
                }
                if running >= max(1, options.jobs), let ended = await group.next() {
                    running -= 1
                    note(ended, &failure)
                }
                if failure != nil || isStopped {
                    teller.ended(DownloadItem(plan, state: .cancelled), isCounted: true)
                    continue
                }
                running += 1
                group.addTask {
                    var download = PhotoDownload(plan, in: context)
                    return await download.perform()
                }
            }
        }
        if failure != nil { control.abandon() }
        for await ended in group { note(ended, &failure) }
        return failure
    }

    private func note(_ obstacle: PhotoSyncError?, _ failure: inout PhotoSyncError?) {
        guard let obstacle, failure == nil else { return }
        failure = obstacle
        control.abandon()
    }

    private func next(_ feed: CandidateFeed) async throws(PhotoSyncError) -> CandidateFeed.Block? {
        do {
            return try await feed.next()
        } catch {
            throw Self.wrapped(error)
        }
    }

    /// Reports photos that are not downloaded, and plans the others.
    private func plan(
        _ block: CandidateFeed.Block,
        _ planner: DownloadPlanner
    ) async throws(PhotoSyncError) -> [PlannedDownload] {
        var wanted: [(photo: PhotoRecord, names: [PhotoCopy])] = []
        for candidate in block {
            switch candidate {
            case .wanted(let photo, let names): wanted.append((photo, names))
            case .present(let photo, let copy, let isChanged):
                teller.ended(DownloadItem(photo, copy, isChanged: isChanged), isCounted: false)
            case .unknown(let id):
                let error = PhotoSyncError(.unknownPhoto, detail: "not in the index", value: id, photoID: id)
                teller.ended(DownloadItem(id: id, state: .failed, error: error), isCounted: false)
            }
        }
        do {
            return try await planner.plan(wanted)
        } catch {
            throw PhotoSyncError(error)
        }
    }

    private func reading<Value: Sendable>(
        _ read: @escaping @Sendable () throws -> Value
    ) async throws(PhotoSyncError) -> Value {
        do {
            return try await BlockingWork.run(read)
        } catch {
            throw Self.wrapped(error)
        }
    }

    private static func wrapped(_ error: any Error) -> PhotoSyncError {
        (error as? StoreError).map { PhotoSyncError($0) } ?? error as? PhotoSyncError
            ?? PhotoSyncError(.internalError, detail: "\(error)")
    }
}

extension DownloadItem {
    init(_ plan: PlannedDownload, state: State) {
        self.init(
            id: plan.photo.id,
            originalFilename: plan.photo.originalFilename,
            state: state,
            path: plan.copy.path,
            serverSHA256: plan.photo.sha256
        )
    }

    init(_ photo: PhotoRecord, _ copy: PhotoCopy, isChanged: Bool) {
        self.init(
            id: photo.id,
            originalFilename: photo.originalFilename,
            state: .present,
            serverSHA256: photo.sha256
        )
        describe(copy)
        guard isChanged else { return }
        sha256 = nil
        sizeBytes = nil
        error = PhotoSyncError(
            .sourceChanged,
            detail: "changed here since it was the photo's copy",
            path: copy.path,
            photoID: photo.id
        )
    }

    mutating func describe(_ copy: PhotoCopy) {
        path = copy.path
        sizeBytes = copy.identity?.size
        sha256 = copy.sha256
    }
}
