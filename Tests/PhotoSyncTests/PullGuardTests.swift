import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import PhotoSync

/// An inconsistent listing is restarted a few times, and is never recorded as complete (photosync contract section 5
/// and trap 1). Without the check that it covers, each of these tests fails or does not terminate.
@Suite struct PullGuardTests {
    /// Responses that are never consistent.
    enum Defect: String, CaseIterable {
        case emptyPageByCursor, emptyPageWithMore, moreWithoutCursor, cursorWithoutMore, tooLargeTotal, endlessPhotos
        case circleOfOne, circleOfTwo, circleOfSeven

        var code: OutcomeCode {
            switch self {
            case .circleOfOne, .circleOfTwo, .circleOfSeven: .repeatedCursor
            default: .listingIncomplete
            }
        }

        /// 24 photos, 3 per page.
        func apply(
            _ page: inout PhotoPage,
            _ request: ServerPhotos.Request,
            _ number: Int,
            _ serverPhotos: ServerPhotos
        ) {
            switch self {
            case .emptyPageByCursor:
                if request.cursor != nil {
                    page = PhotoPage(photos: [], cursor: nil, hasMore: false, totalCount: page.totalCount)
                }
            case .emptyPageWithMore: page.photos = []
            case .moreWithoutCursor: page.cursor = nil
            case .cursorWithoutMore: page.hasMore = page.cursor == nil
            case .tooLargeTotal: page.totalCount += 1
            case .circleOfOne: page = serverPhotos.circle(of: 1, request)
            case .circleOfTwo: page = serverPhotos.circle(of: 2, request)
            case .circleOfSeven: page = serverPhotos.circle(of: 7, request)
            case .endlessPhotos:
                let photos = (0..<500).map { ServerPhotos.photo(number * 500 + $0) }
                page = PhotoPage(photos: photos, cursor: "\(number)", hasMore: true, totalCount: 24)
            }
        }
    }

    @Test(arguments: Defect.allCases) func anInconsistentListingIsNeverComplete(_ defect: Defect) async throws {
        let bench = try PullBench(ServerPhotos(24))
        let serverPhotos = bench.server.serverPhotos
        bench.server.change { state in
            state.after = { page, request, number in defect.apply(&page, request, number, serverPhotos) }
        }
        await expectFailure(defect.code) { _ = try await bench.pull(restarts: 2).run() }
        #expect(bench.server.requests.filter { $0.cursor == nil }.count == 3)
        #expect(try bench.state()?.lastCompleteAt == nil)

        // As soon as the server is consistent again, so is the index.
        bench.server.change { $0.after = nil }
        _ = try await bench.pull().run()
        #expect(try bench.listed == serverPhotos.photos)
    }

    /// After one inconsistent response and one restart, the listing is complete.
    @Test(arguments: Defect.allCases) func oneInconsistentResponseCausesOneRestart(_ defect: Defect) async throws {
        let bench = try PullBench(ServerPhotos(24))
        let serverPhotos = bench.server.serverPhotos
        let defects = Flag()
        bench.server.change { state in
            state.after = { page, request, number in
                // Up to the second start.
                if number > 1, request.cursor == nil { defects.lower() }
                if defects.isUp { defect.apply(&page, request, number, serverPhotos) }
            }
        }
        let result = try await bench.pull().run()
        #expect(result.restarts == 1)
        // Fabricated photos are removed.
        #expect(try bench.listed == serverPhotos.photos)
        #expect(!result.advisesFull)
    }

    /// A server without PostgreSQL (contract section 5): only one page.
    @Test func aStubServerIsRefusedAtOnce() async throws {
        let bench = try PullBench(ServerPhotos(24))
        bench.server.change { state in
            state.after = { page, _, _ in (page.cursor, page.hasMore) = (nil, false) }
        }
        await expectFailure(.stubServer) { _ = try await bench.pull().run() }
        #expect(bench.server.requests.count == 1)
        #expect(try bench.listed.isEmpty)
    }

    @Test func aDeletedAnchorRestartsTheListing() async throws {
        let bench = try PullBench(ServerPhotos(9))
        let anchor = bench.server.serverPhotos.photos[2].id
        bench.server.change { state in
            state.before = { serverPhotos, number in if number == 2 { serverPhotos.remove(anchor) } }
        }
        let result = try await bench.pull().run()
        #expect(result.restarts == 1)
        #expect(try bench.listed == bench.server.serverPhotos.photos)
        #expect(result.changes.gone == 1)
    }

    @Test func aFilteredListingRestartsAtItsTime() async throws {
        let bench = try await PullBench(ServerPhotos(2)).pulled()
        // The first page of the new listing: the two known photos and this one, which is the cursor's anchor.
        let anchor = ServerPhotos.photo(10).id
        bench.server.change { state in
            for number in 10..<18 { state.serverPhotos.insert(ServerPhotos.photo(number)) }
            state.requests = []
            state.before = { serverPhotos, number in if number == 2 { serverPhotos.remove(anchor) } }
        }
        let result = try await bench.pull().run()
        #expect(result.restarts == 1)
        #expect(!result.isFull)
        let beginnings = bench.server.requests.filter { $0.cursor == nil }
        #expect(beginnings.count == 2)
        #expect(beginnings.allSatisfy { $0.since == beginnings[0].since && $0.since != nil })
    }

    /// As many photos were deleted as are missing, so the counts do not show it.
    @Test(arguments: [Defect.emptyPageByCursor, .moreWithoutCursor])
    func anIncompleteListingIsDetectedEvenIfTheCountsMatch(_ defect: Defect) async throws {
        var serverPhotos = ServerPhotos(2)
        for number in 40..<48 { serverPhotos.insert(ServerPhotos.photo(number, uploadedAt: -5000)) }
        let bench = try PullBench(serverPhotos)
        let old = serverPhotos
        _ = try await bench.pull().run()
        let defects = Flag()
        bench.server.change { state in
            for number in 40..<48 { state.serverPhotos.remove(ServerPhotos.photo(number).id) }
            for number in 10..<15 { state.serverPhotos.insert(ServerPhotos.photo(number)) }
            state.requests = []
            state.after = { page, request, number in
                if number > 1, request.cursor == nil { defects.lower() }
                if defects.isUp { defect.apply(&page, request, number, old) }
            }
        }
        let result = try await bench.pull().run()
        #expect(result.restarts == 1)
        #expect(result.changes.added == 5)
        #expect(result.advisesFull)
    }

    /// Trap 19: an incremental listing has no total, but the index must not have fewer photos than the server.
    @Test func anIncrementalPullWithGapsIsFollowedByAFullOne() async throws {
        let bench = try await PullBench(ServerPhotos(8)).pulled()
        // The photo was uploaded long before the overlap.
        bench.server.change { $0.serverPhotos.insert(ServerPhotos.photo(60, uploadedAt: -5000)) }
        let result = try await bench.pull(restarts: 1).run()
        #expect(result.isFull)
        #expect(result.restarts == 2)
        #expect(try bench.listed == bench.server.serverPhotos.photos)
        #expect(try await bench.pull(dry: true).run().isFull == false)
    }

    @Test func aDryRunDetectsGapsAsWell() async throws {
        let bench = try await PullBench(ServerPhotos(8)).pulled()
        bench.server.change { $0.serverPhotos.insert(ServerPhotos.photo(60, uploadedAt: -5000)) }
        let result = try await bench.pull(dry: true).run()
        #expect(result.isFull)
        #expect(result.changes == .of(added: 1))
    }

    @Test func photosDeletedAfterTheyWereListedAreNotAGap() async throws {
        let bench = try PullBench(ServerPhotos(9))
        let first = bench.server.serverPhotos.photos[0].id
        bench.server.change { state in
            state.before = { serverPhotos, number in if number == 3 { serverPhotos.remove(first) } }
        }
        let result = try await bench.pull().run()
        #expect((result.photos, result.restarts) == (9, 0))
        // The deleted photo is still in the index, and the server's count shows that.
        #expect(result.advisesFull)
        _ = try await bench.pull(full: true).run()
        #expect(try bench.listed == bench.server.serverPhotos.photos)
    }

    @Test func photosUploadedDuringTheListingAreListed() async throws {
        let bench = try PullBench(ServerPhotos(9))
        bench.server.change { state in
            state.before = { serverPhotos, number in
                if number == 3 { serverPhotos.insert(ServerPhotos.photo(30)) }
            }
        }
        let result = try await bench.pull().run()
        #expect((result.photos, result.restarts) == (10, 0))
        #expect(try bench.listed == bench.server.serverPhotos.photos)
    }

    /// The first pages were listed by an earlier process, and one of their photos has been deleted since. A killed
    /// process stored the last page, but did not record the listing as complete.
    @Test(arguments: [false, true], [false, true])
    func aResumedPullListsAgainAfterADeletion(wasKilledAtTheEnd: Bool, isFull: Bool) async throws {
        let bench = try PullBench(ServerPhotos(9))
        if wasKilledAtTheEnd {
            let (server, index, now) = (bench.account.server, bench.account.index, bench.account.now())
            let key = try bench.account.indexKey()
            let run = try index.begin(server, account: key, kind: .full, restarts: false, now: now)
            _ = try index.append(bench.server.serverPhotos.photos, cursor: nil, totalCount: 9, to: run)
        } else {
            try await stopEarly(bench)
        }
        bench.server.change { $0.serverPhotos.remove($0.serverPhotos.photos[0].id) }
        let result = try await bench.pull(full: isFull).run()
        #expect((result.isFull, result.restarts, result.advisesFull) == (true, 1, false))
        #expect((result.photos, result.changes.gone) == (8, 1))
        #expect(try bench.listed == bench.server.serverPhotos.photos)
    }

    @Test func aResumedPullWhoseAnchorIsDeletedRestarts() async throws {
        let bench = try PullBench(ServerPhotos(9))
        try await stopEarly(bench)
        bench.server.change { $0.serverPhotos.remove($0.serverPhotos.photos[5].id) }
        let result = try await bench.pull().run()
        #expect(result.restarts == 1)
        #expect(try bench.listed == bench.server.serverPhotos.photos)
        #expect(!result.advisesFull)
    }

    /// Stops a pull before the last of its three pages.
    private func stopEarly(_ bench: PullBench) async throws {
        let control = TransferControl()
        await expectFailure(.cancelled) {
            _ = try await bench.pull().run(control: control) { _ in control.stop() }
        }
        #expect(try bench.listed.count == 6)
    }
}

extension ServerPhotos {
    /// Pages that are repeated after the first one.
    fileprivate func circle(of length: Int, _ request: Request) -> PhotoPage {
        let number = request.cursor.flatMap { Int($0) }.map { $0 % length + 1 } ?? 0
        return PhotoPage(
            photos: Array(photos[(number * 3)..<(number * 3 + 3)]),
            cursor: "\(number)",
            hasMore: true,
            totalCount: Int64(photos.count)
        )
    }
}

/// A flag that remains set until it is cleared. The lock protects the value.
private final class Flag: @unchecked Sendable {
    private let lock = NSLock()
    private var value = true

    var isUp: Bool { lock.withLock { value } }

    func lower() {
        lock.withLock { value = false }
    }
}
