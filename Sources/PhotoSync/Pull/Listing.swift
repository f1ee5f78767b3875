internal import Foundation
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Walks through a server's listing into an index, and believes it only when it can be right (photosync contract
/// section 5, traps 1, 18, 19 and 22).
///
/// Each page is stored together with the cursor behind it while the next one is on its way. What makes a listing
/// doubtful, and begins it anew a few times before it is an error:
///
/// - an empty page reached by a cursor: the photo that the cursor stands for is gone, or the server has lost it;
/// - an empty page that promises more, or a page whose cursor and `hasMore` contradict each other;
/// - a page on which every photo was listed before: the cursor goes in a circle, of whatever length;
/// - far more photos than the server says it has: it would never end;
/// - fewer distinct photos at the end than the server says it has.
struct Listing: Sendable {
    /// Asks for a page: by cursor, nil for the first; from a time on, nil for everything.
    typealias Source = @Sendable (String?, PhotoTime?, TransferControl) async throws(PhotoSyncError) -> PhotoPage

    /// A listing that can be right.
    struct Outcome: Sendable {
        /// All its pages are stored; it is not recorded as complete.
        var run: SyncRun
        /// How often it was begun anew.
        var restarts: Int
        /// Whether its last page was stored by an earlier process, and nothing was asked now.
        var isOfEarlierProcess: Bool
    }

    /// A page, ready to be stored.
    private struct Fetched {
        var page: PhotoPage
        var photos: EncodedPhotos
    }

    private enum End {
        case credible(SyncRun)
        case doubtful(PhotoSyncError)
    }

    let source: Source
    let index: SyncIndex
    let account: SyncAccount
    /// Whose photos the index has; see `SyncIndex.begin`.
    let accountKey: String
    /// Whether the index holds all photos after an incremental run, and not only those of that run.
    let isIndexOfAll: Bool
    let maximumRestarts: Int
    let queue: StoreQueue

    /// Stores every page of a listing. `progress` is called after each one.
    ///
    /// - Throws: `PhotoSyncError`: the last doubt when `maximumRestarts` did not help; `.stubServer` and `.cancelled` at
    ///   once. What is stored stays, and the run is not complete.
    func store(
        _ kind: SyncRun.Kind,
        control: TransferControl,
        progress: (@Sendable (PullProgress) -> Void)?
    ) async throws(PhotoSyncError) -> Outcome {
        var restarts = 0
        while true {
            let isAnew = restarts > 0
            let run = try await queue.run {
                try index.begin(account.server, account: accountKey, kind: kind, restarts: isAnew, now: account.now())
            }
            let end =
                run.isAtEnd
                ? try await verdict(on: run)
                : try await walk(run, control: control) { [attempt = restarts + 1] run in
                    progress?(PullProgress(run, attempt: attempt))
                }
            switch end {
            case .credible(let last): return Outcome(run: last, restarts: restarts, isOfEarlierProcess: run.isAtEnd)
            case .doubtful(let doubt) where restarts == maximumRestarts: throw doubt
            case .doubtful: restarts += 1
            }
        }
    }

    /// One way through the listing, from where `run` stands.
    private func walk(
        _ start: SyncRun,
        control: TransferControl,
        progress: @Sendable (SyncRun) -> Void
    ) async throws(PhotoSyncError) -> End {
        // A page that is on its way is not worth waiting for: it can be had again.
        let requests = TransferControl()
        let observer = control.observeStop { requests.abandon() }
        defer { control.endObserving(observer) }

        // What an earlier process has stored counts, also when nothing is added to it.
        if start.isResumed { progress(start) }
        var run = start
        var largestTotal = run.totalCount
        var fetched = try await fetch(run, cursor: run.cursor, control, requests)
        while true {
            let page = fetched.page
            largestTotal = max(largestTotal, page.totalCount)
            if let doubt = try Self.doubt(about: page, of: run) { return .doubtful(doubt) }
            guard let cursor = page.cursor else { break }
            SyncKillPoint.betweenPageAndCommit.reach()
            let before = run
            async let storing = stored(fetched, in: before)
            let fetching = await Result.awaiting { () async throws(PhotoSyncError) in
                try await fetch(before, cursor: cursor, control, requests)
            }
            run = try await storing.get()
            progress(run)
            SyncKillPoint.afterPage.reach()
            if let doubt = Self.doubt(about: run, after: before, largestTotal: largestTotal) { return .doubtful(doubt) }
            fetched = try fetching.get()
        }
        return try await storeLast(fetched, of: run, progress)
    }

    private func storeLast(
        _ fetched: Fetched,
        of run: SyncRun,
        _ progress: (SyncRun) -> Void
    ) async throws(PhotoSyncError) -> End {
        SyncKillPoint.betweenPageAndCommit.reach()
        let last = try await stored(fetched, in: run).get()
        progress(last)
        SyncKillPoint.beforeFinish.reach()
        if !fetched.page.photos.isEmpty, last.photosSeen == run.photosSeen {
            return .doubtful(Self.circle)
        }
        return try await verdict(on: last)
    }

    private func fetch(
        _ run: SyncRun,
        cursor: String?,
        _ control: TransferControl,
        _ requests: TransferControl
    ) async throws(PhotoSyncError) -> Fetched {
        guard !control.isStopRequested, !Task.isCancelled else { throw PhotoSyncError(.cancelled) }
        let page = try await source(cursor, run.kind.since, requests)
        return Fetched(page: page, photos: EncodedPhotos(page.photos))
    }

    private func stored(_ fetched: Fetched, in run: SyncRun) async -> Result<SyncRun, PhotoSyncError> {
        await Result.awaiting { () async throws(PhotoSyncError) in
            try await queue.run {
                let page = fetched.page
                return try index.append(fetched.photos, cursor: page.cursor, totalCount: page.totalCount, to: run)
            }
        }
    }

    // MARK: Doubts

    private static let circle = PhotoSyncError(
        .repeatedCursor,
        detail: "a page of the listing has only photos that were listed before"
    )

    /// What is wrong with a page, by itself.
    ///
    /// - Throws: `.stubServer`: a server without PostgreSQL never gives more than one page (contract section 5).
    private static func doubt(about page: PhotoPage, of run: SyncRun) throws(PhotoSyncError) -> PhotoSyncError? {
        if run.kind == .full, run.pagesSeen == 0, !page.hasMore, page.cursor == nil,
            Int64(page.photos.count) < page.totalCount
        {
            throw PhotoSyncError(
                .stubServer,
                detail:
                    "the server lists \(page.photos.count) of \(page.totalCount) photos and says that there are no more"
            )
        }
        if page.photos.isEmpty, run.cursor != nil {
            return PhotoSyncError(.listingIncomplete, detail: "the listing breaks off after \(run.photosSeen) photos")
        }
        if page.photos.isEmpty, page.hasMore {
            return PhotoSyncError(.listingIncomplete, detail: "an empty page of the listing promises more")
        }
        if page.hasMore != (page.cursor != nil) {
            return PhotoSyncError(
                .listingIncomplete,
                detail: page.hasMore
                    ? "the listing has more photos, but no cursor to ask for them"
                    : "the listing has a cursor, but no more photos"
            )
        }
        return nil
    }

    /// What is wrong with the way from one page to the next.
    private static func doubt(about run: SyncRun, after before: SyncRun, largestTotal: Int64) -> PhotoSyncError? {
        if run.photosSeen == before.photosSeen { return circle }
        // Photos that are deleted after they were listed make it more than the total; never so many.
        let (bound, isHuge) = largestTotal.multipliedReportingOverflow(by: 2)
        if !isHuge, run.photosSeen > bound.addingReportingOverflow(5000).partialValue {
            return PhotoSyncError(
                .listingIncomplete,
                detail: "the listing goes on after \(run.photosSeen) photos, but the server has \(run.totalCount)"
            )
        }
        return nil
    }

    /// Whether the numbers can be right, after the last page.
    ///
    /// An incremental listing has no number of its own, for `totalCount` counts everything (trap 19); but an index with
    /// fewer photos than the server has must lack some.
    private func verdict(on run: SyncRun) async throws(PhotoSyncError) -> End {
        let known: Int64
        switch run.kind {
        case .full: known = run.photosSeen
        case .since where !isIndexOfAll: return .credible(run)
        case .since: known = try await queue.run { try index.counts(of: account.server, device: nil).total }
        }
        if known < run.totalCount {
            return .doubtful(
                PhotoSyncError(
                    .listingIncomplete,
                    detail: "the listing ended after \(known) of \(run.totalCount) photos"
                )
            )
        }
        return .credible(run)
    }
}

extension SyncRun.Kind {
    /// Where the listing begins; nil for the whole.
    fileprivate var since: PhotoTime? {
        switch self {
        case .full: nil
        case .since(let time): time
        }
    }
}

extension PullProgress {
    fileprivate init(_ run: SyncRun, attempt: Int) {
        self.init(
            photos: run.photosSeen,
            pages: run.pagesSeen,
            expected: run.kind == .full ? run.totalCount : nil,
            attempt: attempt
        )
    }
}

/// The whole listing of a server as it is now, in a temporary database of its own. Neither the index nor the server is
/// changed: not even the device's `lastSyncAt` moves.
struct LiveListing: Sendable {
    let index: SyncIndex
    let server: String
    /// How it was had.
    let outcome: Listing.Outcome

    /// What to list, and how.
    struct Request: Sendable {
        var kind = SyncRun.Kind.full
        var pageSize = 500
        var restarts = 3
        var control = TransferControl()
        var progress: (@Sendable (PullProgress) -> Void)?
    }

    /// Lists.
    ///
    /// - Throws: `PhotoSyncError`, as `Listing.store`.
    static func make(
        of account: SyncAccount,
        _ request: Request = Request(),
        queue: StoreQueue
    ) async throws(PhotoSyncError) -> LiveListing {
        let index = try await queue.run { try SyncIndex.temporary() }
        let listing = Listing(
            source: account.source(pageSize: request.pageSize, device: nil),
            index: index,
            account: account,
            accountKey: "",
            isIndexOfAll: false,
            maximumRestarts: request.restarts,
            queue: queue
        )
        let outcome = try await listing.store(request.kind, control: request.control, progress: request.progress)
        _ = try await queue.run { try index.finish(outcome.run, now: nil) }
        return LiveListing(index: index, server: account.server, outcome: outcome)
    }

    /// The photos with these ids, by id.
    func photos(_ ids: [String]) throws(StoreError) -> [String: PhotoRecord] {
        try index.photosByID(ids, of: server)
    }

    /// How many of the photos have no device.
    var legacyCount: Int64 {
        get throws(StoreError) { try index.counts(of: server, device: nil).legacy }
    }

    /// What would change in another index if this listing were pulled into it, besides photos that are gone.
    func changes(to other: SyncIndex) throws -> SyncChanges {
        var changes = SyncChanges()
        try index.forEachBlock(of: server, where: PhotoFilter()) { block in
            let known = try other.photosByID(block.map(\.id), of: server)
            for photo in block {
                guard let old = known[photo.id] else {
                    changes.added += 1
                    continue
                }
                if old != photo { changes.changed += 1 }
            }
        }
        return changes
    }

    /// How many photos of another index this listing does not have.
    func goneCount(from other: SyncIndex) throws -> Int64 {
        var count: Int64 = 0
        try other.forEachBlock(of: server, where: PhotoFilter()) { block in
            count += Int64(block.count - (try photos(block.map(\.id)).count))
        }
        return count
    }
}

extension SyncIndex {
    /// The photos with these ids that are not gone, by id.
    func photosByID(_ ids: [String], of server: String) throws(StoreError) -> [String: PhotoRecord] {
        Dictionary(try photos(ids, of: server).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension SyncAccount {
    /// Pages of this account's listing. Asking for them moves the `lastSyncAt` of `device` (contract section 4).
    func source(pageSize: Int, device: String?) -> Listing.Source {
        let client = client
        return { (cursor, since, control) async throws(PhotoSyncError) in
            try await client.photos(cursor: cursor, limit: pageSize, device: device, since: since, control: control)
        }
    }
}
