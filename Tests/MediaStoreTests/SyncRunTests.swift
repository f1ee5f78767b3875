import Foundation
import GRDB
import Testing

@testable import MediaStore

@Suite("Runs of the sync index")
struct SyncRunTests {
    let fixture: IndexFixture
    let index: SyncIndex
    let server = IndexFixture.server
    let now = Date(timeIntervalSince1970: 1_780_000_000)

    init() throws {
        fixture = try IndexFixture()
        index = try fixture.index()
    }

    @Test("the photos of a run are read back unchanged, oldest upload first")
    func roundTrip() throws {
        var odd = samplePhoto(3, device: nil, name: "")
        odd.id = "ID with spaces, no UUID"
        odd.sha256 = "ABC"
        odd.takenAt = PhotoTime(text: "1969-12-31T23:59:59.123456789Z", microseconds: -876_544)
        odd.uploadedAt.text = "2023-11-14T22:13:23.003000000Z"
        odd.width = nil
        odd.height = nil
        var early = samplePhoto(4, device: IndexFixture.tablet, name: "é\u{0}\u{1B}.jpg")
        early.takenAt = PhotoTime(text: "0001-01-01T00:00:00.5Z", microseconds: -62_135_596_799_500_000)
        var late = samplePhoto(5)
        late.takenAt = PhotoTime(text: "10000-01-01T00:00:00Z", microseconds: 253_402_300_800_000_000)
        let photos = [samplePhoto(1), samplePhoto(2), odd, early, late]
        let (run, changes) = try index.synchronize([photos.reversed()])
        #expect(run.photosSeen == 5)
        #expect(run.isAtEnd)
        #expect(changes.added == 5)
        #expect(try index.all() == photos)
        #expect(Set(try index.photos(photos.map(\.id), of: server)) == Set(photos))
        #expect(Set(try index.photos(withDigests: photos.map(\.sha256), of: server)) == Set(photos))
    }

    @Test("photos on two pages of a run count once, and the later version is stored")
    func distinct() throws {
        var renamed = samplePhoto(2)
        renamed.originalFilename = "renamed.jpg"
        let pages = [[samplePhoto(1), samplePhoto(2)], [renamed, samplePhoto(1)], [samplePhoto(3), samplePhoto(3)]]
        let (run, changes) = try index.synchronize(pages)
        #expect(run.photosSeen == 3)
        #expect(run.pagesSeen == 3)
        #expect(run.totalCount == 6)
        #expect(changes.added == 3)
        #expect(changes.changed == 0)
        #expect(try index.all() == [samplePhoto(1), renamed, samplePhoto(3)])
    }

    @Test(
        "a photo whose upload time changes is still one photo, with and without the index over IDs",
        arguments: [6, 20_000]
    )
    func movedPhoto(totalCount: Int64) throws {
        var moved = samplePhoto(2)
        moved.uploadedAt = samplePhoto(900).uploadedAt
        let pages = [[samplePhoto(1), samplePhoto(2)], [samplePhoto(3), moved], [moved]]
        let (run, changes) = try index.synchronize(pages, totalCount: totalCount)
        #expect(run.photosSeen == 3)
        #expect(changes.added == 3)
        #expect(try index.all() == [samplePhoto(1), samplePhoto(3), moved])
        #expect(try index.counts(of: server, device: nil).total == 3)
        #expect(try index.counts(of: server, device: nil).otherDevices == 3)

        // A later run lists the photo with its first upload time again.
        let again = try index.synchronize([[samplePhoto(1), samplePhoto(2), samplePhoto(3)]], totalCount: totalCount)
        #expect(again.run.photosSeen == 3)
        #expect(again.changes.added == 0)
        #expect(again.changes.changed == 1)
        #expect(again.changes.gone == 0)
        #expect(try index.all() == (1...3).map { samplePhoto($0) })
    }

    @Test("a second run over the same photos writes no rows")
    func unchanged() throws {
        let pages = [(1...300).map { samplePhoto($0) }, (301...500).map { samplePhoto($0) }]
        try index.synchronize(pages)
        try fixture.rawDatabase().write { db in
            for event in ["UPDATE", "INSERT", "DELETE"] {
                try db.execute(
                    sql: """
                        CREATE TRIGGER no_\(event) BEFORE \(event) ON photos
                        BEGIN SELECT raise(ABORT, 'a photo is written'); END
                        """
                )
            }
        }
        let (run, changes) = try index.synchronize(pages)
        #expect(run.photosSeen == 500)
        #expect(changes == SyncChanges())
    }

    @Test("every changed detail is detected and counted once")
    func changes() throws {
        let photos = (1...9).map { samplePhoto($0) }
        try index.synchronize([photos])
        var changed = photos
        changed[0].sha256 = String(repeating: "a", count: 64)
        changed[1].originalFilename = "other"
        changed[2].fileSize += 1
        changed[3].takenAt.text += " "
        changed[4].uploadedAt.text += " "
        changed[5].width = nil
        changed[6].height = 1
        changed[7].originDevice = IndexFixture.tablet
        let (_, changes) = try index.synchronize([changed, changed])
        #expect(changes.changed == 8)
        #expect(changes.added == 0)
        #expect(try index.all() == changed)
    }

    // MARK: Deleted

    @Test("a full run marks unseen photos as deleted, and restores those that reappear")
    func goneAndBack() throws {
        let photos = (1...5).map { samplePhoto($0, device: $0 == 2 ? nil : IndexFixture.phone) }
        try index.synchronize([photos])
        let (_, changes) = try index.synchronize([[photos[0], photos[4]]])
        #expect(changes.gone == 3)
        #expect(try index.all() == [photos[0], photos[4]])
        #expect(try index.all(PhotoFilter(isGone: true)) == Array(photos[1...3]))
        #expect(try index.photos(photos.map(\.id), of: server).count == 2)
        #expect(try index.photos(withDigests: photos.map(\.sha256), of: server).count == 2)
        var counts = try index.counts(of: server, device: IndexFixture.phone.id)
        #expect((counts.thisDevice, counts.legacy, counts.gone) == (2, 0, 3))

        let back = try index.synchronize([photos])
        #expect(back.changes.gone == 0)
        #expect(back.changes.added == 0)
        #expect(back.changes.changed == 3)
        #expect(try index.all() == photos)
        counts = try index.counts(of: server, device: IndexFixture.phone.id)
        #expect((counts.thisDevice, counts.legacy, counts.gone, counts.total) == (4, 1, 0, 5))
    }

    @Test("an incremental run marks nothing as deleted, and restores the photos that it sees")
    func incremental() throws {
        let photos = (1...3).map { samplePhoto($0) }
        try index.synchronize([photos])
        try index.synchronize([[photos[0]]])
        let (run, changes) = try index.synchronize([[photos[1], samplePhoto(9)]], kind: .since(photos[1].uploadedAt))
        #expect(run.photosSeen == 2)
        #expect(changes.gone == 0)
        #expect(try index.all() == [photos[0], photos[1], samplePhoto(9)])
        #expect(try index.all(PhotoFilter(isGone: true)) == [photos[2]])
    }

    @Test("a restarted run discards the records of the earlier one")
    func seenBelongsToRun() throws {
        let photos = (1...3).map { samplePhoto($0) }
        try index.synchronize([photos])
        let first = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        _ = try index.append([photos[2]], cursor: "c", totalCount: 3, to: first)
        let (run, changes) = try index.synchronize([Array(photos[..<2])])
        #expect(run.photosSeen == 2)
        #expect(changes.gone == 1)
    }

    @Test("an unfinished run marks nothing, and cannot be finished before its last page")
    func notAtEnd() throws {
        try index.synchronize([(1...3).map { samplePhoto($0) }])
        var run = try index.begin(server, account: "me", kind: .full, restarts: true, now: now)
        run = try index.append([samplePhoto(1)], cursor: "c", totalCount: 3, to: run)
        #expect(try storeErrorKind { _ = try index.finish(run, now: now) } == .other)
        #expect(try index.counts(of: server, device: nil).gone == 0)
        #expect(try index.state(of: server)?.hasUnfinishedRun == true)
    }

    @Test("a listing of an empty server is complete")
    func emptyServer() throws {
        try index.synchronize([[samplePhoto(1)]])
        let (run, changes) = try index.synchronize([[]])
        #expect(run.isAtEnd)
        #expect(run.pagesSeen == 1)
        #expect(changes.gone == 1)
        #expect(try index.state(of: server)?.watermark == nil)
    }

    // MARK: Resuming

    @Test("a run is resumed at its cursor, with its counts and a new number")
    func resumed() throws {
        var run = try fixture.index().begin(server, account: "me", kind: .full, restarts: false, now: now)
        run = try fixture.index().append([samplePhoto(1), samplePhoto(2)], cursor: "c1", totalCount: 3, to: run)
        #expect(!run.isResumed)
        let index = try fixture.index()
        var resumed = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        #expect(resumed.isResumed)
        #expect(resumed.number > run.number)
        #expect((resumed.cursor, resumed.photosSeen, resumed.pagesSeen, resumed.totalCount) == ("c1", 2, 1, 3))
        resumed = try index.append([samplePhoto(2), samplePhoto(3)], cursor: nil, totalCount: 3, to: resumed)
        #expect((resumed.cursor, resumed.photosSeen, resumed.isAtEnd) == (nil, 3, true))
        let changes = try index.finish(resumed, now: now)
        #expect((changes.added, changes.gone) == (3, 0))
    }

    enum Difference: CaseIterable {
        case kind, since, restarts
    }

    @Test(
        "a run of a different kind, or an explicit restart, starts at the first page",
        arguments: Difference.allCases
    )
    func notResumed(difference: Difference) throws {
        let since = SyncRun.Kind.since(samplePhoto(1).uploadedAt)
        let kind = difference == .since ? since : .full
        var run = try index.begin(server, account: "me", kind: kind, restarts: false, now: now)
        run = try index.append([samplePhoto(1)], cursor: "c", totalCount: 3, to: run)
        let next: SyncRun.Kind =
            switch difference {
            case .kind: since
            case .since: .since(samplePhoto(2).uploadedAt)
            case .restarts: .full
            }
        let new = try index.begin(server, account: "me", kind: next, restarts: difference == .restarts, now: now)
        #expect(new == SyncRun(number: new.number, server: server, kind: next, beganAt: new.beganAt))
        #expect(new.number > run.number)
    }

    @Test("a run whose last page is stored resumes at its end, without a further page")
    func resumedAtEnd() throws {
        let run = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        _ = try index.append([samplePhoto(1)], cursor: nil, totalCount: 1, to: run)
        let resumed = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        #expect((resumed.isAtEnd, resumed.isResumed, resumed.photosSeen) == (true, true, 1))
        #expect(try index.finish(resumed, now: now).added == 1)
    }

    @Test(
        "after a day a run starts at the first page, even if the clock was set back",
        arguments: [86_400, 86_401, -86_401]
    )
    func tooOld(seconds: Double) throws {
        let run = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        _ = try index.append([samplePhoto(1)], cursor: "c", totalCount: 3, to: run)
        let next = try index.begin(server, account: "me", kind: .full, restarts: false, now: now + seconds)
        #expect(next.isResumed == (seconds == 86_400))
        #expect(next.photosSeen == (seconds == 86_400 ? 1 : 0))
    }

    @Test("a full run is dated by its start: only deletions before that are certain to be detected")
    func resumedFullRunClaimsNoMore() throws {
        var run = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        _ = try index.append([samplePhoto(1)], cursor: "c", totalCount: 2, to: run)
        run = try index.begin(server, account: "me", kind: .full, restarts: false, now: now + 3600)
        run = try index.append([samplePhoto(2)], cursor: nil, totalCount: 2, to: run)
        _ = try index.finish(run, now: now + 3601)
        #expect(try index.state(of: server)?.lastFullAt == now)
        #expect(try index.state(of: server)?.lastCompleteAt == now + 3601)

        // The time of its last page is unknown.
        run = try index.begin(server, account: "me", kind: .full, restarts: false, now: now + 7200)
        run = try index.append([samplePhoto(2)], cursor: nil, totalCount: 1, to: run)
        _ = try index.finish(run, now: nil)
        #expect(try index.state(of: server)?.lastCompleteAt == now + 7200)
    }

    @Test("the time of a photo in the future is not used as a watermark", arguments: [0, 1])
    func horizon(microsecond: Int64) throws {
        var future = samplePhoto(9)
        future.uploadedAt.microseconds = Int64(now.timeIntervalSince1970 + 86_400) * 1_000_000 + microsecond
        var run = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        run = try index.append([samplePhoto(5), future], cursor: nil, totalCount: 2, to: run)
        _ = try index.finish(run, now: now)
        let expected = microsecond == 0 ? future.uploadedAt : samplePhoto(5).uploadedAt
        #expect(try index.state(of: server)?.watermark == expected)
    }

    @Test("a temporary index works like any other, and leaves no files", arguments: [6, 20_000])
    func temporary(totalCount: Int64) throws {
        let index = try SyncIndex.temporary()
        var moved = samplePhoto(2)
        moved.uploadedAt = samplePhoto(900).uploadedAt
        let pages = [[samplePhoto(1), samplePhoto(2)], [samplePhoto(3), moved]]
        #expect(try index.synchronize(pages, totalCount: totalCount).run.photosSeen == 3)
        #expect(try index.all() == [samplePhoto(1), samplePhoto(3), moved])
        #expect(try index.photos([moved.id], of: server) == [moved])
        #expect(try SyncIndex.temporary().all().isEmpty)
    }

    @Test("photos added by an unfinished run are counted by the next one")
    func addedByUnfinishedRun() throws {
        let run = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        _ = try index.append([samplePhoto(1)], cursor: "c", totalCount: 2, to: run)
        var next = try index.begin(server, account: "me", kind: .full, restarts: true, now: now)
        next = try index.append([samplePhoto(1), samplePhoto(2)], cursor: nil, totalCount: 2, to: next)
        #expect(next.photosSeen == 2)
        #expect(try index.finish(next, now: now).added == 2)
    }

    @Test("a run superseded by another one is refused, and stores nothing")
    func superseded() throws {
        let (mine, other) = (try fixture.index(), try fixture.index())
        var run = try mine.begin(server, account: "me", kind: .full, restarts: false, now: now)
        run = try mine.append([samplePhoto(1)], cursor: "c1", totalCount: 3, to: run)
        let theirs = try other.begin(server, account: "me", kind: .full, restarts: false, now: now)
        #expect(
            try storeErrorKind { _ = try mine.append([samplePhoto(2)], cursor: nil, totalCount: 3, to: run) } == .busy
        )
        #expect(try storeErrorKind { _ = try mine.finish(run, now: now) } == .busy)
        #expect(try mine.all() == [samplePhoto(1)])
        #expect(try other.append([samplePhoto(3)], cursor: "c2", totalCount: 3, to: theirs).photosSeen == 2)
        try other.forget(server)
        _ = try other.begin(server, account: "me", kind: .full, restarts: false, now: now)
        #expect(try storeErrorKind { _ = try mine.append([], cursor: "c", totalCount: 3, to: theirs) } == .busy)
    }

    @Test(
        "another account's photos are removed when a run starts; photos on other servers are kept",
        arguments: [true, false]
    )
    func accountChange(hasOtherServer: Bool) throws {
        if hasOtherServer { try index.synchronize([[samplePhoto(7)]], server: "https://other") }
        try index.synchronize([[samplePhoto(1), samplePhoto(2, device: nil)]])
        _ = try index.begin(server, account: "you", kind: .full, restarts: false, now: now)
        #expect(try index.all() == [])
        #expect(try index.counts(of: server, device: nil) == PhotoCounts())
        #expect(try index.state(of: server) == SyncState(account: "you", hasUnfinishedRun: true))
        #expect(try index.all(server: "https://other") == (hasOtherServer ? [samplePhoto(7)] : []))
        #expect(try index.synchronize([[samplePhoto(2)]], account: "you").changes.added == 1)
    }

    // MARK: State

    @Test("the watermark changes only when a run is complete")
    func watermark() throws {
        #expect(try index.state(of: server) == nil)
        var run = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        run = try index.append([samplePhoto(5), samplePhoto(4)], cursor: "c", totalCount: 3, to: run)
        #expect(try index.state(of: server)?.watermark == nil)
        run = try index.append([samplePhoto(3)], cursor: nil, totalCount: 3, to: run)
        #expect(try index.state(of: server)?.watermark == nil)
        _ = try index.finish(run, now: now)
        let full = SyncState(
            account: "me",
            lastCompleteAt: now,
            lastFullAt: now,
            watermark: samplePhoto(5).uploadedAt,
            totalCount: 3
        )
        #expect(try index.state(of: server) == full)

        let later = now + 60
        run = try index.begin(
            server,
            account: "me",
            kind: .since(samplePhoto(2).uploadedAt),
            restarts: false,
            now: later
        )
        run = try index.append([samplePhoto(2)], cursor: nil, totalCount: 4, to: run)
        _ = try index.finish(run, now: later)
        var incremental = full
        incremental.lastCompleteAt = later
        incremental.totalCount = 4
        #expect(try index.state(of: server) == incremental)
    }

    @Test("removing a server removes all of its data")
    func forget() throws {
        try index.synchronize([[samplePhoto(1)]])
        _ = try index.begin(server, account: "me", kind: .full, restarts: false, now: now)
        try index.forget(server)
        #expect(try index.state(of: server) == nil)
        #expect(try index.all() == [])
        let rows = try fixture.rawDatabase().read { db in
            try ["servers", "runs", "photos", "seen", "origins"].map { table in
                try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)")
            }
        }
        #expect(rows == [0, 0, 0, 0, 0])
    }
}
