internal import Foundation
internal import MediaCore
internal import MediaFiles
internal import MediaStore
internal import MediaSystem
internal import MediaTransport

/// Reads a server's listing into an index, and accepts it only if it is consistent (photosync contract section 5, traps
/// 1, 18, 19 and 22).
///
/// Each page is stored together with its next cursor while the next page is being fetched. The following make a listing
/// unreliable; it is restarted a few times before an error is thrown:
///
/// - an empty page after a cursor: the photo that the cursor refers to was deleted, or the server has lost the cursor;
/// - an empty page with `hasMore`, or a page whose cursor and `hasMore` contradict each other;
/// - a page of photos that were all listed before: a pagination loop of any length;
/// - far more photos than the server's total: the listing might never end;
/// - fewer distinct photos at the end than the server's total;
/// - a resumed full listing that ends with more photos than the server has: some were deleted after an earlier process
///   listed them.
struct Listing: Sendable {
    /// Fetches a page after a cursor (nil: the first page) of photos uploaded since a time (nil: all).
    typealias Source = @Sendable (String?, PhotoTime?, TransferControl) async throws(PhotoSyncError) -> PhotoPage

    struct Outcome: Sendable {
        /// All pages of this run are stored, but it is not yet recorded as complete.
        var run: SyncRun
        var restarts: Int
        /// Whether an earlier process stored the last page, so this process did not request any.
        var isOfEarlierProcess: Bool
    }

    private enum PassResult {
        case credible(SyncRun)
        case inconsistent(PhotoSyncError)
    }

    let source: Source
    let index: SyncIndex
    let account: SyncAccount
    /// Identifies the owner of the photos in the index; see `SyncIndex.begin`.
    let accountKey: String
    /// Whether the index has all photos after an incremental run, not only those listed by that run.
    let isIndexOfAll: Bool
    let maximumRestarts: Int

    /// Stores every page of a listing, and calls `progress` after each one.
    ///
    /// - Throws: `PhotoSyncError`: the last inconsistency after `maximumRestarts`; `.stubServer` and `.cancelled`
    ///   immediately. Stored pages are kept; the run is not complete.
    func store(
        _ kind: SyncRun.Kind,
        control: TransferControl,
        progress: (@Sendable (PullProgress) -> Void)?
    ) async throws(PhotoSyncError) -> Outcome {
        var restarts = 0
        while true {
            let isFresh = restarts > 0
            let run = try await StoreWork.run {
                try index.begin(account.server, account: accountKey, kind: kind, restarts: isFresh, now: account.now())
            }
            let end =
                run.isAtEnd
                ? try await verdict(onEarlier: run, control)
                : try await walk(run, control: control) { [attempt = restarts + 1] run in
                    progress?(PullProgress(run, attempt: attempt))
                }
            switch end {
            case .credible(let last): return Outcome(run: last, restarts: restarts, isOfEarlierProcess: run.isAtEnd)
            case .inconsistent(let problem) where restarts == maximumRestarts: throw problem
            case .inconsistent: restarts += 1
            }
        }
    }

    private func walk(
        _ start: SyncRun,
        control: TransferControl,
        progress: @Sendable (SyncRun) -> Void
    ) async throws(PhotoSyncError) -> PassResult {
        // On a stop, do not wait for a page in transfer: it can be fetched again.
        let requests = TransferControl()
        let observer = control.observeStop { requests.abandon() }
        defer { control.endObserving(observer) }

        // Reports the pages stored by an earlier process, even if no page is added.
        if start.isResumed { progress(start) }
        var run = start
        var largestTotal = run.totalCount
        var next = try await fetch(run, cursor: run.cursor, control, requests)
        while true {
            let page = next
            largestTotal = max(largestTotal, page.totalCount)
            if let problem = try Self.problem(about: page, of: run) { return .inconsistent(problem) }
            SyncFailpoint.betweenPageAndCommit.reach()
            let before = run
            async let storing = Result(awaiting: { () async throws(PhotoSyncError) in
                try await StoreWork.run {
                    try index.append(page.photos, cursor: page.cursor, totalCount: page.totalCount, to: before)
                }
            })
            guard let cursor = page.cursor else {
                run = try await storing.get()
                progress(run)
                SyncFailpoint.beforeFinish.reach()
                if !page.photos.isEmpty, run.photosSeen == before.photosSeen { return .inconsistent(Self.circle) }
                return try await verdict(on: run)
            }
            let fetching = await Result(awaiting: { () async throws(PhotoSyncError) in
                try await fetch(before, cursor: cursor, control, requests)
            })
            run = try await storing.get()
            progress(run)
            SyncFailpoint.afterPage.reach()
            if let problem = Self.problem(about: run, after: before, largestTotal: largestTotal) {
                return .inconsistent(problem)
            }
            next = try fetching.get()
        }
    }

    private func fetch(
        _ run: SyncRun,
        cursor: String?,
        _ control: TransferControl,
        _ requests: TransferControl
    ) async throws(PhotoSyncError) -> PhotoPage {
        guard !control.isStopRequested, !Task.isCancelled else { throw PhotoSyncError(.cancelled) }
        return try await source(cursor, run.kind.since, requests)
    }

    // MARK: Uncertain cases

    private static let circle = PhotoSyncError(
        .repeatedCursor,
        detail: "a page of the listing has only photos that were listed before"
    )

    /// Checks a single page.
    ///
    /// - Throws: `.stubServer`: a server without PostgreSQL never returns more than one page (contract section 5).
    private static func problem(about page: PhotoPage, of run: SyncRun) throws(PhotoSyncError) -> PhotoSyncError? {
        if run.kind == .full, run.pagesSeen == 0, !page.hasMore, page.cursor == nil,
            Int64(page.photos.count) < page.totalCount
        {
            throw PhotoSyncError(
                .stubServer,
                detail:
                    "the server lists \(page.photos.count) of \(page.totalCount) photos and reports no more"
            )
        }
        if page.photos.isEmpty, run.cursor != nil {
            return PhotoSyncError(.listingIncomplete, detail: "the listing ends early, after \(run.photosSeen) photos")
        }
        if page.photos.isEmpty, page.hasMore {
            return PhotoSyncError(.listingIncomplete, detail: "an empty page of the listing reports more photos")
        }
        if page.hasMore != (page.cursor != nil) {
            return PhotoSyncError(
                .listingIncomplete,
                detail: page.hasMore
                    ? "the listing reports more photos, but has no cursor"
                    : "the listing has a cursor, but reports no more photos"
            )
        }
        return nil
    }

    /// Checks that a page made progress.
    private static func problem(about run: SyncRun, after before: SyncRun, largestTotal: Int64) -> PhotoSyncError? {
        if run.photosSeen == before.photosSeen { return circle }
        // Photos deleted after they were listed can exceed the total, but never by this many.
        let (bound, isHuge) = largestTotal.multipliedReportingOverflow(by: 2)
        if !isHuge, run.photosSeen > bound.addingReportingOverflow(5000).partialValue {
            return PhotoSyncError(
                .listingIncomplete,
                detail: "the listing continues after \(run.photosSeen) photos, but the server has \(run.totalCount)"
            )
        }
        return nil
    }

    /// Verifies a run whose last page an earlier process stored: the server's total is as old as that page.
    private func verdict(onEarlier run: SyncRun, _ control: TransferControl) async throws(PhotoSyncError) -> PassResult
    {
        guard run.kind == .full else { return try await verdict(on: run) }
        let total = try await fetch(run, cursor: nil, control, control).totalCount
        if run.photosSeen > total { return .inconsistent(Self.deletions(run.photosSeen, of: total)) }
        // Photos uploaded since then are listed next.
        return try await verdict(on: run)
    }

    private static func deletions(_ seen: Int64, of total: Int64) -> PhotoSyncError {
        PhotoSyncError(.listingIncomplete, detail: "the resumed listing has \(seen) photos, the server has \(total)")
    }

    /// Compares the counts after the last page.
    ///
    /// `totalCount` counts all photos, not those in an incremental listing (trap 19); an index with fewer photos than
    /// that is incomplete.
    private func verdict(on run: SyncRun) async throws(PhotoSyncError) -> PassResult {
        let known: Int64
        switch run.kind {
        case .full:
            known = run.photosSeen
            if run.isResumed, known > run.totalCount { return .inconsistent(Self.deletions(known, of: run.totalCount)) }
        case .since where !isIndexOfAll: return .credible(run)
        case .since: known = try await StoreWork.run { try index.counts(of: account.server, device: nil).total }
        }
        if known < run.totalCount {
            return .inconsistent(
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

/// The server's complete current listing, in a temporary database. Changes neither the index nor the server, not even
/// the device's `lastSyncAt`.
struct LiveListing: Sendable {
    let index: SyncIndex
    let server: String
    let outcome: Listing.Outcome

    /// - Throws: `PhotoSyncError`, as for `Listing.store`.
    static func make(
        of account: SyncAccount,
        _ kind: SyncRun.Kind = .full,
        pageSize: Int = 500,
        restarts: Int = 3,
        control: TransferControl = TransferControl(),
        progress: (@Sendable (PullProgress) -> Void)? = nil
    ) async throws(PhotoSyncError) -> LiveListing {
        let index = try await StoreWork.run { try SyncIndex.temporary() }
        let listing = Listing(
            source: account.source(pageSize: pageSize, device: nil),
            index: index,
            account: account,
            accountKey: "",
            isIndexOfAll: false,
            maximumRestarts: restarts
        )
        let outcome = try await listing.store(kind, control: control, progress: progress)
        _ = try await StoreWork.run { try index.finish(outcome.run, now: nil) }
        return LiveListing(index: index, server: account.server, outcome: outcome)
    }

    /// Lists the photos that an incremental pull would currently list.
    static func ofNews(
        for account: SyncAccount,
        _ control: TransferControl
    ) async throws(PhotoSyncError) -> LiveListing {
        let state = try await StoreWork.run { try account.state() }
        let kind = SyncRun.Kind(after: state, overlap: Pull.Options().overlap)
        return try await make(of: account, kind, control: control)
    }

    func photos(_ ids: [String]) throws(StoreError) -> [String: PhotoRecord] {
        try index.photosByID(ids, of: server)
    }

    var legacyCount: Int64 {
        get throws(StoreError) { try index.counts(of: server, device: nil).legacy }
    }

    /// The changes that pulling this listing into a different index would make, without deletions.
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

    func goneCount(from other: SyncIndex) throws -> Int64 {
        var count: Int64 = 0
        try other.forEachBlock(of: server, where: PhotoFilter()) { block in
            count += Int64(block.count - (try photos(block.map(\.id)).count))
        }
        return count
    }
}

extension SyncIndex {
    /// Photos that are not marked as deleted, by ID.
    func photosByID(_ ids: [String], of server: String) throws(StoreError) -> [String: PhotoRecord] {
        Dictionary(try photos(ids, of: server).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension SyncAccount {
    /// Photos in the index that are not marked as deleted, by ID.
    func photosByID(_ ids: [String]) throws(StoreError) -> [String: PhotoRecord] {
        try index.photosByID(ids, of: server)
    }
    /// The source of the pages of this account's listing. Each request updates the `lastSyncAt` of `device` (contract
    /// section 4).
    func source(pageSize: Int, device: String?) -> Listing.Source {
        let client = client
        return { (cursor, since, control) async throws(PhotoSyncError) in
            try await client.photos(cursor: cursor, limit: pageSize, device: device, since: since, control: control)
        }
    }
}
