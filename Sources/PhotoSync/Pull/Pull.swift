internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
public import MediaTransport

/// Brings the index up to what the server has (photosync contract section 5).
///
/// A full pull that ends well has listed every photo that was on the server from its beginning to its end. A photo that
/// was deleted after its page had come is still in the index, and one whose upload took so long that it was placed behind
/// the cursor is not; both show in the server's own counts (`PullResult.advisesFull`). A server that leaves out as many
/// photos as were deleted meanwhile cannot be told from an honest one.
public struct Pull: Sendable {
    /// How a pull goes.
    public struct Options: Sendable, Equatable {
        /// Whether everything is listed anew. A first pull always does.
        public var isFull: Bool
        /// Photos a page, 1 to 500.
        public var pageSize: Int
        /// How far an incremental run goes back behind the latest upload it knows (contract section 5).
        public var overlap: Duration
        /// How often a listing that cannot be right is begun anew.
        public var restarts: Int
        /// Only count what would come, store nothing.
        public var isDryRun: Bool

        /// Makes options.
        public init(
            isFull: Bool = false,
            pageSize: Int = 500,
            overlap: Duration = .seconds(300),
            restarts: Int = 3,
            isDryRun: Bool = false
        ) {
            self.isFull = isFull
            self.pageSize = pageSize
            self.overlap = overlap
            self.restarts = restarts
            self.isDryRun = isDryRun
        }
    }

    let account: SyncAccount
    let options: Options
    private let source: Listing.Source
    private let status: @Sendable () async throws(PhotoSyncError) -> SyncStatus
    private let queue = StoreQueue()

    /// Prepares a pull.
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

    /// Runs to the end of the listing.
    ///
    /// An incremental run after which the index has fewer photos than the server is followed by a full one.
    ///
    /// - Parameters:
    ///   - control: A stop breaks off the request under way; pages that have come stay, and the next pull goes on there.
    ///   - progress: Called after each page.
    /// - Returns: What was found. A result that is not complete is never returned: it is an error.
    /// - Throws: `PhotoSyncError`: `.stubServer`, `.listingIncomplete`, `.repeatedCursor`, `.cancelled`; `.busy` when another
    ///   process has begun a pull meanwhile …
    public func run(
        control: TransferControl = TransferControl(),
        progress: (@Sendable (PullProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> PullResult {
        let state = try await queue.run { [account] in try account.state() }
        let kind = options.isFull ? .full : SyncRun.Kind(after: state, overlap: options.overlap)
        if options.isDryRun { return try await dryRun(kind, control, progress) }

        return try await counted(pull(kind, control, progress))
    }

    /// The result with the counts of index and server. The listing is complete without the latter.
    private func counted(_ result: PullResult) async throws(PhotoSyncError) -> PullResult {
        let (index, server, device) = (account.index, account.server, account.deviceID)
        var result = result
        result.counts = try await queue.run { try index.counts(of: server, device: device) }
        result.status = try? await status()
        return result
    }

    // MARK: Into the index

    private func pull(
        _ kind: SyncRun.Kind,
        _ control: TransferControl,
        _ progress: (@Sendable (PullProgress) -> Void)?
    ) async throws(PhotoSyncError) -> PullResult {
        let listing = Listing(
            source: source,
            index: account.index,
            server: account.server,
            accountKey: try account.indexKey(),
            isIndexOfAll: true,
            maximumRestarts: options.restarts,
            queue: queue
        )
        let outcome: Listing.Outcome
        do {
            outcome = try await listing.store(kind, control: control, progress: progress)
        } catch {
            guard kind != .full, error.isDoubt else { throw error }
            var result = try await pull(.full, control, progress)
            result.restarts += options.restarts + 1
            return result
        }
        let index = account.index
        // Nobody knows when the last page came to an earlier process.
        let now = outcome.isOfEarlierProcess ? nil : Date()
        let changes = try await queue.run { try index.finish(outcome.run, now: now) }
        SyncKillPoint.afterFinish.reach()
        let result = PullResult(outcome, changes)
        guard outcome.isOfEarlierProcess else { return result }
        // What was uploaded since is still to be listed.
        let state = try await queue.run { [account] in try account.state() }
        let next = SyncRun.Kind(after: state, overlap: options.overlap)
        return result.followed(by: try await pull(next, control, progress))
    }

    // MARK: Beside the index

    private func dryRun(
        _ kind: SyncRun.Kind,
        _ control: TransferControl,
        _ progress: (@Sendable (PullProgress) -> Void)?
    ) async throws(PhotoSyncError) -> PullResult {
        let request = LiveListing.Request(
            kind: kind,
            pageSize: options.pageSize,
            restarts: options.restarts,
            control: control,
            progress: progress
        )
        let (index, server, device) = (account.index, account.server, account.deviceID)
        let live = try await LiveListing.make(of: account, request, queue: queue)
        let total = live.outcome.run.totalCount
        let result = try await queue.run { [account] in
            guard try account.state() != nil else {
                // Nothing is known, or what is known of another user goes.
                var changes = SyncChanges()
                changes.added = live.outcome.run.photosSeen
                return PullResult(live.outcome, changes)
            }
            var result = PullResult(live.outcome, try live.changes(to: index))
            result.counts = try index.counts(of: server, device: device)
            if kind == .full { result.changes.gone = try live.goneCount(from: index) }
            return result
        }
        // As for a real run: with fewer photos than the server it would be followed by a full one.
        if !result.isFull, result.counts.total + result.changes.added < total {
            return try await dryRun(.full, control, progress)
        }
        return result
    }
}

extension SyncRun.Kind {
    /// What to ask for: everything, unless a complete run has left a time to go on from, less the overlap that late rows
    /// need (contract section 5).
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
    /// Whether a listing cannot be right.
    fileprivate var isDoubt: Bool { code == .listingIncomplete || code == .repeatedCursor }
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

    /// This run and the one after it as one.
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
