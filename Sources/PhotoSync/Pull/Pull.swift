internal import Foundation
internal import MediaCore
internal import MediaFiles
public import MediaStore
internal import MediaSystem
public import MediaTransport

/// Updates the index from the server's listing (photosync contract section 5).
///
/// A complete full pull has listed every photo that was on the server during the whole pull. A photo that was deleted
/// after its page was received is still in the index, and a photo whose slow upload was placed before the cursor is
/// missing; both cause a difference from the server's own counts (`PullResult.advisesFull`). If the server omits
/// exactly as many photos as were deleted during the pull, the omission cannot be detected.
public struct Pull: Sendable {
    /// Options of a pull.
    public struct Options: Sendable, Equatable {
        /// Whether to list everything again. A first pull always lists everything.
        public var isFull: Bool
        /// Number of photos per page, 1 to 500.
        public var pageSize: Int
        /// How far an incremental run goes back before the latest known upload (contract section 5).
        public var overlap: Duration
        /// Maximum number of restarts of an inconsistent listing.
        public var restarts: Int
        /// Whether to only count changes and store nothing.
        public var isDryRun: Bool
        /// Maximum age of the last full listing before everything is listed again; nil for no limit. A late row and a
        /// deletion can cancel each other out in the counts, and only a full listing finds both (contract, new fact 4).
        public var fullInterval: Duration?
        /// How long to wait while another process lists the photos on this server.
        public var lockTimeout: Duration = .seconds(600)

        public init(
            isFull: Bool = false,
            pageSize: Int = 500,
            overlap: Duration = .seconds(300),
            restarts: Int = 3,
            isDryRun: Bool = false,
            fullInterval: Duration? = nil
        ) {
            self.isFull = isFull
            self.pageSize = pageSize
            self.overlap = overlap
            self.restarts = restarts
            self.isDryRun = isDryRun
            self.fullInterval = fullInterval
        }
    }

    let account: SyncAccount
    let options: Options
    private let source: Listing.Source
    private let status: @Sendable () async throws(PhotoSyncError) -> SyncStatus

    public init(_ account: SyncAccount, options: Options = Options()) {
        self.init(
            account,
            options: options,
            source: account.source(pageSize: options.pageSize, device: account.deviceID)
        ) {
            () async throws(PhotoSyncError) in
            try await account.client.status(device: account.deviceID)
        }
    }

    init(
        _ account: SyncAccount,
        options: Options,
        source: @escaping Listing.Source,
        status: @escaping @Sendable () async throws(PhotoSyncError) -> SyncStatus
    ) {
        self.account = account
        self.options = options
        self.source = source
        self.status = status
    }

    /// If the index has fewer photos than the server after an incremental run, a full run follows. A stop cancels the
    /// current request; stored pages are kept, and the next pull resumes there. `progress` is called after each page.
    ///
    /// - Returns: The result of a complete listing; an incomplete one is an error.
    /// - Throws: `PhotoSyncError`, such as `.stubServer`, `.listingIncomplete`, `.repeatedCursor` and `.cancelled`;
    ///   `.busy` if another process lists this server for longer than `lockTimeout`.
    public func run(
        control: TransferControl = TransferControl(),
        progress: (@Sendable (PullProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PullResult {
        if options.isDryRun { return try await dryRun(nextKind(), control, progress) }
        let timeout = options.lockTimeout
        let lock = try await account.lock(.listing, timeout: timeout, control: control) { owner in
            progress?(PullProgress(photos: 0, pages: 0, expected: nil, attempt: 1, waitsForProcess: owner))
        }
        defer { lock.release() }
        return try await counted(pull(nextKind(), control, progress))
    }

    private func nextKind() async throws(PhotoSyncError) -> SyncRun.Kind {
        let state = try await StoreWork.run { [account] in try account.state() }
        return options.isFull || isFullDue(after: state) ? .full : SyncRun.Kind(after: state, overlap: options.overlap)
    }

    /// Whether the last full listing is too old. A time in the future indicates a wrong clock.
    private func isFullDue(after state: SyncState?) -> Bool {
        guard let interval = options.fullInterval, let state else { return false }
        guard let last = state.lastFullAt else { return true }
        let age = account.now().timeIntervalSince(last)
        return age < 0 || age >= Double(interval.components.seconds)
    }

    /// Adds the counts from the index and the server. The request for the server's counts may fail: the listing is
    /// complete without them.
    private func counted(_ result: PullResult) async throws(PhotoSyncError) -> PullResult {
        var result = result
        result.counts = try await StoreWork.run { [account] in try account.counts() }
        result.status = try? await status()
        return result
    }

    // MARK: Updating the index

    private func pull(
        _ kind: SyncRun.Kind,
        _ control: TransferControl,
        _ progress: (@Sendable (PullProgress) -> Void)?
    ) async throws(PhotoSyncError) -> PullResult {
        let listing = Listing(
            source: source,
            index: account.index,
            account: account,
            accountKey: try account.indexKey(),
            isIndexOfAll: true,
            maximumRestarts: options.restarts
        )
        let outcome: Listing.Outcome
        do {
            outcome = try await listing.store(kind, control: control, progress: progress)
        } catch {
            guard kind != .full, error.isInconsistency else { throw error }
            var result = try await pull(.full, control, progress)
            result.restarts += options.restarts + 1
            return result
        }
        let index = account.index
        // The time at which an earlier process received its last page is unknown.
        let now = outcome.isOfEarlierProcess ? nil : account.now()
        let changes = try await StoreWork.run { try index.finish(outcome.run, now: now) }
        SyncFailpoint.afterFinish.reach()
        let isFull = outcome.run.kind == .full
        try await StoreWork.run { [account] in
            if changes.gone > 0 { try account.recordDeletions() }
            if isFull || changes.added + changes.changed > 0 {
                try account.removeUndoneDeletions(before: outcome.run.beganAt, isFull: isFull)
            }
        }
        let result = PullResult(outcome, changes)
        guard outcome.isOfEarlierProcess else { return result }
        // Photos uploaded since then are not listed yet.
        let state = try await StoreWork.run { [account] in try account.state() }
        let next = SyncRun.Kind(after: state, overlap: options.overlap)
        return result.followed(by: try await pull(next, control, progress))
    }

    // MARK: Dry run

    private func dryRun(
        _ kind: SyncRun.Kind,
        _ control: TransferControl,
        _ progress: (@Sendable (PullProgress) -> Void)?
    ) async throws(PhotoSyncError) -> PullResult {
        let index = account.index
        let live = try await LiveListing.make(
            of: account,
            kind,
            pageSize: options.pageSize,
            restarts: options.restarts,
            control: control,
            progress: progress
        )
        let total = live.outcome.run.totalCount
        let result = try await StoreWork.run { [account] in
            guard try account.state() != nil else {
                // The index has no photos owned by this user; photos owned by another user would be removed.
                var changes = SyncChanges()
                changes.added = live.outcome.run.photosSeen
                return PullResult(live.outcome, changes)
            }
            var result = PullResult(live.outcome, try live.changes(to: index))
            result.counts = try account.counts()
            if kind == .full { result.changes.gone = try live.goneCount(from: index) }
            return result
        }
        // Like a real run, list everything if the index has fewer photos than the server.
        if !result.isFull, result.counts.total + result.changes.added < total {
            return try await dryRun(.full, control, progress)
        }
        return result
    }
}

extension SyncRun.Kind {
    /// Full, unless a complete run has stored a time to start from. The overlap that late rows require (contract
    /// section 5) is subtracted from that time.
    init(after state: SyncState?, overlap: Duration) {
        self = .full
        guard let watermark = state?.watermark else { return }
        let overlap = overlap.components
        let microseconds = overlap.seconds * 1_000_000 + overlap.attoseconds / 1_000_000_000_000
        let (begin, isBeforeTime) = watermark.microseconds.subtractingReportingOverflow(microseconds)
        guard !isBeforeTime, let time = PhotoTime(microseconds: begin) else { return }
        self = .since(time)
    }
}

extension PhotoSyncError {
    fileprivate var isInconsistency: Bool { self.code == .listingIncomplete || self.code == .repeatedCursor }
}

extension PullResult {
    fileprivate init(_ outcome: Listing.Outcome, _ changes: SyncChanges) {
        self.init(
            isFull: outcome.run.kind == .full,
            isResumed: outcome.run.isResumed,
            photos: outcome.run.photosSeen,
            pages: outcome.run.pagesSeen,
            restarts: outcome.restarts,
            changes: changes
        )
    }

    fileprivate func followed(by next: PullResult) -> PullResult {
        var result = next
        result.isFull = isFull || next.isFull
        result.isResumed = isResumed
        result.photos = max(photos, next.photos)
        result.pages += pages
        result.changes.added += changes.added
        result.changes.changed += changes.changed
        result.changes.gone += changes.gone
        return result
    }
}

extension SyncAccount {
    /// The numbers of photos in the index.
    fileprivate func counts() throws(StoreError) -> PhotoCounts { try index.counts(of: server, device: deviceID) }
}

/// Progress of a pull.
public struct PullProgress: Sendable, Equatable {
    /// Number of distinct photos so far.
    public var photos: Int64
    /// Number of pages so far.
    public var pages: Int64
    /// Number of photos that a full run will list; nil for an incremental run (trap 19).
    public var expected: Int64?
    /// Number of the attempt, from 1.
    public var attempt: Int
    /// ID of the process that is listing the photos on this server, 0 if unknown; nil if the pull is not waiting for a
    /// process.
    public var waitsForProcess: Int32?
}

/// The result of a complete pull.
public struct PullResult: Sendable, Equatable {
    /// Whether everything was listed.
    public var isFull: Bool
    /// Whether the pull resumed an earlier listing.
    public var isResumed: Bool = false
    /// Number of distinct photos that were listed.
    public var photos: Int64 = 0
    /// Number of pages that were listed.
    public var pages: Int64 = 0
    public var restarts: Int = 0
    public var changes: SyncChanges = SyncChanges()
    /// The number of photos in the updated index.
    public var counts: PhotoCounts = PhotoCounts()
    /// The server's own counts after the run; nil if the request failed.
    public var status: SyncStatus?

    /// Whether only a full pull can make the index match the server: the server's counts after the run differ from the
    /// index's, because photos were deleted or claimed elsewhere, which an incremental listing does not show (contract
    /// section 5), or changed during a full run. False if the server's counts are unknown, and after a dry run.
    public var advisesFull: Bool {
        status?.differs(from: counts) ?? false
    }
}

extension SyncStatus {
    func differs(from counts: PhotoCounts) -> Bool {
        totalPhotos != counts.total || legacyPhotos != counts.legacy || devicePhotos != counts.thisDevice
    }
}

/// Blocking work on the stores and on files, off Swift's cooperative threads.
enum StoreWork {
    /// Cancellation does not stop `body`.
    ///
    /// - Throws: The error thrown by `body`, converted by `PhotoSyncError.ofStore`.
    static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws(PhotoSyncError) -> Value {
        do { return try await BlockingWork.run(body) } catch { throw .ofStore(error) }
    }
}

extension PhotoSyncError {
    /// Converts an error of a store or a file. A busy store is retryable: another process has started a run, or is
    /// holding the write lock for a long time.
    static func ofStore(_ error: any Error) -> PhotoSyncError {
        switch error {
        case let error as PhotoSyncError:
            return error
        case let error as FileWriteError:
            return PhotoSyncError(error)
        case let error as SourceFileError:
            return PhotoSyncError(error)
        case let error as StoreError:
            guard error.kind == .busy else { return PhotoSyncError(error) }
            return PhotoSyncError(.busy, detail: error.description, isRetryable: true, underlying: error)
        default:
            return PhotoSyncError(.internalError, detail: "\(error)")
        }
    }
}

/// The report of `sync status`: index, server, and whether they match.
public struct SyncReport: Sendable {
    /// Whether the server records the owner of uploads (photosync contract 3.5).
    public enum Ownership: String, Sendable {
        /// An upload from this machine was in the user's own listing.
        case owned
        /// An upload from this machine was not in the listing: the server has the defect of the published build.
        case ownerless
        /// Nothing has been uploaded from this machine yet.
        case unknown
    }

    /// The server's health; nil if the request failed.
    public var health: ServerHealth?
    /// The server's own counts; nil if the request failed.
    public var status: SyncStatus?
    /// The server's version; nil if the request failed.
    public var version: ServerVersion?
    /// The devices in the index, and the registered devices that have no photos in it, by number of photos.
    public var devices: [DevicePhotos] = []
    /// The error from the first failed request.
    public var failure: PhotoSyncError?
    /// State of the index; nil before the first pull, or if the index has another user's photos.
    public var state: SyncState?
    public var counts: PhotoCounts
    /// Whether the server shows the ownership defect.
    public var ownership: Ownership

    /// Queries the server and the index. An unreachable server is part of the report, not an error.
    ///
    /// - Throws: `PhotoSyncError` `.storeUnusable` only.
    public static func make(of account: SyncAccount) async throws(PhotoSyncError) -> SyncReport {
        async let health = Result(awaiting: { () async throws(PhotoSyncError) in try await account.client.health() })
        async let status = Result(awaiting: { () async throws(PhotoSyncError) in
            try await account.client.status(device: account.deviceID)
        })
        async let version = try? account.client.version()
        async let registered = try? account.client.devices()
        let (state, counts, ownsUploads, devices) = try await StoreWork.run {
            let state = try account.state()
            return (
                state,
                state == nil ? PhotoCounts() : try account.counts(),
                try account.index.ownsUploads(at: account.server),
                state == nil ? [] : try account.index.devices(of: account.server)
            )
        }
        let (healthResponse, statusResponse) = await (health, status)
        let known = Set(devices.map(\.device.id))
        let others = (await registered ?? []).filter { !known.contains($0.id) }
        return SyncReport(
            health: try? healthResponse.get(),
            status: try? statusResponse.get(),
            version: await version,
            devices: devices
                + others.map { DevicePhotos(device: PhotoDevice(id: $0.id, name: $0.name, platform: $0.platform)) },
            failure: statusResponse.failure ?? healthResponse.failure,
            state: state,
            counts: counts,
            ownership: ownsUploads.map { $0 ? .owned : .ownerless } ?? .unknown
        )
    }

    /// Whether a pull would change the index: the server's counts differ from the index's. Deletions and claims made
    /// elsewhere require a full pull.
    public var advisesPull: Bool {
        guard let status, state?.lastCompleteAt != nil else { return false }
        return status.differs(from: counts)
    }
}

extension Result {
    fileprivate var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
