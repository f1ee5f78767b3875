import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import PhotoSync

/// Random histories of a server that changes while it is listed, and that is sometimes inconsistent.
///
/// The guarantees of a pull, which are tested for each history:
///
/// - Success of a full pull from a consistent server: the index has every photo that was present from the last start
///   of the listing to its end, and none that was never listed in it. Excess photos (deleted after their page was
///   received) and missing ones (uploaded so slowly that they were placed behind the cursor) show in the server's
///   counts, unless as many were deleted as were placed.
/// - Success of a full pull from a server that omits photos: the index has no fewer photos than the server reported.
/// - Otherwise the pull throws, and no run is recorded as complete.
/// - Once server and photos stop changing, one full pull from its start makes the index equal to the server, regardless
///   of its earlier state; one that resumes an earlier pull does the same, or reports that it does not.
///
/// The seed of a failed history is printed; set `seeds` to it to reproduce the failure.
@Suite struct PullModelTests {
    private static let seeds: Range<UInt64> = 0..<400

    @Test func theIndexEqualsTheServerOrTheRunIsNotComplete() async throws {
        let directory = try TemporaryDirectory()
        let bench = try PullBench.account("http://127.0.0.1:9", in: directory.path, device: ServerPhotos.device.id)
        var counts = Counts()
        for seed in Self.seeds {
            // A separate path is a separate server.
            let server = try ServerURL("http://127.0.0.1:9/history/\(seed)", allowingPath: true)
            let account = SyncAccount(
                client: PhotoSyncClient(server: server, http: bench.client.http, authorization: nil),
                deviceID: bench.deviceID,
                index: bench.index,
                library: bench.library
            )
            try await History(seed: seed, account: account).run(&counts)
        }
        // A model without any events proves nothing.
        #expect(counts.complete > 100)
        #expect(counts.refused > 100)
        #expect(counts.restarted > 50)
        #expect(counts.inexact > 20)
    }

    struct Counts {
        var complete = 0
        var refused = 0
        var restarted = 0
        /// Complete, with photos deleted or placed behind the cursor during the listing.
        var inexact = 0
    }
}

/// The history of one server, determined by its seed.
private struct History {
    let seed: UInt64
    let account: SyncAccount
    let server: MovingServer

    init(seed: UInt64, account: SyncAccount) {
        self.seed = seed
        self.account = account
        server = MovingServer(seed: seed)
    }

    func run(_ counts: inout PullModelTests.Counts) async throws {
        for _ in 0..<4 {
            try await pullOnce(isFull: server.flip(), &counts)
        }
        server.keepStill()
        var last = try await pull(isFull: true).run()
        if last.advisesFull {
            // This happens only if a part of the run was listed while the photos were still changing.
            #expect(last.isResumed, "seed \(seed)")
            last = try await pull(isFull: true).run()
        }
        #expect(try account.listed == server.live, "seed \(seed)")
        #expect(!last.advisesFull, "seed \(seed)")

        // From here an incremental run is sufficient for new photos.
        server.upload(5)
        _ = try await pull(isFull: false).run()
        #expect(try account.listed == server.live, "seed \(seed), incremental")
    }

    private func pullOnce(isFull: Bool, _ counts: inout PullModelTests.Counts) async throws {
        let before = try account.index.state(of: account.server)
        let stop = TransferControl()
        server.beginRun(stop)
        do {
            let result = try await pull(isFull: isFull).run(control: stop)
            counts.complete += 1
            if result.restarts > 0 { counts.restarted += 1 }
            try check(result, &counts)
        } catch let error as PhotoSyncError {
            counts.refused += 1
            let expected: [OutcomeCode] = [
                .listingIncomplete, .repeatedCursor, .stubServer, .transport, .cancelled,
            ]
            #expect(expected.contains(error.code), "seed \(seed): \(error)")
            let after = try account.index.state(of: account.server)
            #expect(after?.lastCompleteAt == before?.lastCompleteAt, "seed \(seed)")
            #expect(after?.lastFullAt == before?.lastFullAt, "seed \(seed)")
            #expect(after?.watermark == before?.watermark, "seed \(seed)")
        }
    }

    private func check(_ result: PullResult, _ counts: inout PullModelTests.Counts) throws {
        let listed = try account.listed
        let ids = Set(listed.map(\.id))
        let record = server.record
        #expect(ids.count == listed.count, "seed \(seed)")
        #expect(ids.isSubset(of: record.everListed), "seed \(seed)")
        #expect(Int64(ids.count) >= record.lastTotal, "seed \(seed)")
        let live = server.live
        if listed != live { counts.inexact += 1 }
        guard result.isFull, !record.hasSkipped else { return }
        #expect(record.steady.isSubset(of: ids), "seed \(seed)")
        if record.placedBehind == 0, !result.advisesFull {
            #expect(listed == live, "seed \(seed)")
        }
    }

    private func pull(isFull: Bool) -> Pull {
        Pull(
            account,
            options: Pull.Options(isFull: isFull, overlap: .seconds(20), restarts: 2),
            source: { [server] (cursor, since, _) async throws(PhotoSyncError) in
                try server.page(ServerPhotos.Request(cursor: cursor, since: since?.microseconds, device: nil))
            },
            status: { [server] () async throws(PhotoSyncError) in server.status }
        )
    }
}

/// A listing that changes between its pages and is inconsistent at times, all determined by a seed.
private final class MovingServer: Sendable {
    /// The events since the last start of the listing.
    struct Record: Sendable {
        /// Present from the start until now, and not placed behind the cursor.
        var steady: Set<String> = []
        /// Every photo on any page.
        var everListed: Set<String> = []
        var lastTotal: Int64 = 0
        /// Photos that were placed behind the cursor.
        var placedBehind = 0
        /// Whether photos were omitted, which cannot be detected if others were deleted as well.
        var hasSkipped = false
    }

    struct State: Sendable {
        var serverPhotos: ServerPhotos
        fileprivate var random: SplitMix
        var record = Record()
        var nextNumber = 100
        var isStill = false
        var stop = TransferControl()
        /// The faults of this history's server, in thousandths of pages.
        var wrong: Int
        var moves: Int
        var omitsPhotos: Bool
    }

    private let state: Mutex<State>

    init(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let serverPhotos = ServerPhotos(random.below(30), pageSize: 1 + random.below(5))
        let wrong = [0, 0, 60, 250][random.below(4)]
        let moves = [0, 300, 800][random.below(3)]
        state = Mutex(
            State(serverPhotos: serverPhotos, random: random, wrong: wrong, moves: moves, omitsPhotos: seed % 5 == 0)
        )
    }

    var live: [PhotoRecord] { state.withLock { $0.serverPhotos.photos } }
    var record: Record { state.withLock { $0.record } }
    var status: SyncStatus { state.withLock { $0.serverPhotos.status(of: ServerPhotos.device.id) } }

    func flip() -> Bool { state.withLock { $0.random.below(2) == 0 } }

    func beginRun(_ stop: TransferControl) {
        state.withLock { $0.stop = stop }
    }

    func keepStill() {
        state.withLock { $0.isStill = true }
    }

    func upload(_ count: Int) {
        state.withLock { state in
            for _ in 0..<count { state.upload() }
        }
    }

    func page(_ request: ServerPhotos.Request) throws(PhotoSyncError) -> PhotoPage {
        try state.withLock { state throws(PhotoSyncError) in try state.page(request) }
    }
}

extension MovingServer.State {
    mutating func page(_ request: ServerPhotos.Request) throws(PhotoSyncError) -> PhotoPage {
        if request.cursor == nil { begin() }
        if !isStill { move(behind: request.cursor) }
        var page = serverPhotos.page(request)
        if !isStill {
            try failAtTimes()
            if random.below(1000) < wrong { page = corrupt(page) }
        }
        record.everListed.formUnion(page.photos.map(\.id))
        record.lastTotal = page.totalCount
        return page
    }

    private mutating func begin() {
        record.steady = Set(serverPhotos.photos.map(\.id))
        record.placedBehind = 0
        record.hasSkipped = false
    }

    mutating func upload(at second: Int? = nil) {
        let origin = [nil, ServerPhotos.phone, ServerPhotos.device][random.below(3)]
        let photo = ServerPhotos.photo(nextNumber, uploadedAt: second, origin: origin)
        nextNumber += 1
        serverPhotos.insert(photo)
        if second == nil { record.steady.insert(photo.id) }
    }

    /// Uploads, deletions and claims between two pages.
    private mutating func move(behind cursor: String?) {
        while random.below(1000) < moves {
            switch random.below(6) {
            case 0, 1: upload()
            case 2: if let photo = anyPhoto { remove(photo.id) }
            case 3 where random.below(3) == 0: if let cursor { remove(cursor) }
            case 4:
                if let photo = anyPhoto, photo.originDevice == nil {
                    serverPhotos.setOrigin(ServerPhotos.phone, of: photo.id)
                }
            case 5 where random.below(2) == 0:
                upload(at: random.below(nextNumber / 2))
                record.placedBehind += 1
            default: break
            }
        }
    }

    private var anyPhoto: PhotoRecord? {
        mutating get {
            serverPhotos.photos.isEmpty ? nil : serverPhotos.photos[random.below(serverPhotos.photos.count)]
        }
    }

    private mutating func remove(_ id: String) {
        serverPhotos.remove(id)
        record.steady.remove(id)
    }

    private mutating func failAtTimes() throws(PhotoSyncError) {
        switch random.below(120) {
        case 0: throw PhotoSyncError(.transport, detail: "the connection broke")
        case 1: stop.stop()
        default: break
        }
    }

    /// A page that is inconsistent in one of the ways of contract section 5 and trap 1.
    private mutating func corrupt(_ correct: PhotoPage) -> PhotoPage {
        var page = correct
        switch random.below(omitsPhotos ? 8 : 7) {
        case 0: page.cursor = anyPhoto?.id ?? "nowhere"; page.hasMore = true; rewind(page, correct)
        case 1: page.cursor = nil
        case 2: (page.cursor, page.hasMore) = (correct.cursor ?? "after the end", false)
        case 3: page = PhotoPage(photos: [], cursor: correct.cursor, hasMore: true, totalCount: correct.totalCount)
        case 4: page = PhotoPage(photos: [], cursor: nil, hasMore: false, totalCount: correct.totalCount)
        case 5: page.totalCount += Int64(1 + random.below(5))
        case 6: (page.cursor, page.hasMore) = ("expired", true)
        default:
            page.photos.removeLast(min(1, page.photos.count))
            record.hasSkipped = true
        }
        return page
    }

    /// A cursor to any place omits photos unless it goes back.
    private mutating func rewind(_ page: PhotoPage, _ correct: PhotoPage) {
        guard let cursor = page.cursor, let last = correct.photos.last,
            let target = serverPhotos.photos.firstIndex(where: { $0.id == cursor }),
            let position = serverPhotos.photos.firstIndex(where: { $0.id == last.id })
        else { return }
        if target > position { record.hasSkipped = true }
    }
}

extension SplitMix {
    fileprivate mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(max(bound, 1))) }
}
