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
        try account.requireListing()
        let target = try DownloadTarget.open(path, isDryRun: options.isDryRun)
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
        let failure = await work(feed, planner, options.isDryRun ? nil : context)
        await digests.finish()
        if let failure { throw failure }
        if isStopped { throw PhotoSyncError(.cancelled) }
    }

    private var isStopped: Bool { control.isStopRequested || Task.isCancelled }

    // MARK: The photos

    /// Runs at most `jobs` downloads at a time.
    ///
    /// - Returns: The error that ended the run.
    private func work(
        _ feed: CandidateFeed,
        _ planner: DownloadPlanner,
        _ context: DownloadContext?
    ) async -> PhotoSyncError? {
        var failure: PhotoSyncError?
        var plans: ArraySlice<PlannedDownload> = []
        await withBoundedTasks(
            // A dry run reports in order.
            limit: context == nil ? 1 : options.jobs,
            next: {
                do throws(PhotoSyncError) {
                    while failure == nil, !isStopped {
                        if let plan = plans.popFirst() { return plan }
                        guard let block = try await feed.next() else { return nil }
                        plans = try await plan(block, planner)[...]
                    }
                } catch {
                    note(error, &failure)
                }
                for plan in plans { teller.ended(DownloadItem(plan, state: .cancelled), isCounted: true) }
                return nil
            },
            ended: { note($0, &failure) }
        ) { (plan: PlannedDownload) -> PhotoSyncError? in
            guard let context else {
                teller.ended(DownloadItem(plan, state: .planned), isCounted: true)
                return nil
            }
            var download = PhotoDownload(plan, in: context)
            return await download.perform()
        }
        return failure
    }

    private func note(_ obstacle: PhotoSyncError?, _ failure: inout PhotoSyncError?) {
        guard let obstacle, failure == nil else { return }
        failure = obstacle
        control.abandon()
    }

    /// Tells the photos that are not to be fetched, and names the others.
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
            throw PhotoSyncError.ofStore(error)
        }
    }
}

extension SyncAccount {
    /// - Throws: `PhotoSyncError` `.neverSynchronized` before the first listing is complete.
    func requireListing() throws(PhotoSyncError) {
        guard try state()?.lastCompleteAt == nil else { return }
        throw PhotoSyncError(.neverSynchronized, detail: "no complete listing of \(server)")
    }
}

enum DownloadTarget {
    /// nil for a dry run into a directory that does not exist.
    static func open(_ path: [UInt8], isDryRun: Bool) throws(PhotoSyncError) -> TargetDirectory? {
        do throws(FileWriteError) {
            let target = try TargetDirectory.open(path, creating: !isDryRun)
            guard let target else { return nil }
            if !target.isWritable { throw FileWriteError(.denied, path: target.path) }
            // Two runs would give the same photo two names, and download it twice.
            if !isDryRun { try target.lock() }
            return target
        } catch {
            throw PhotoSyncError(error)
        }
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
