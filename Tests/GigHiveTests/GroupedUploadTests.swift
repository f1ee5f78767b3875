import Foundation
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive
@testable import MediaStore

/// Intents and tokens that are committed in groups (docs/adr/0047).
@Suite(.prompt) struct GroupedUploadTests {
    private let timer = ManualTimer()

    private func waitForTimer(_ count: Int = 1) async {
        while timer.count < count { await Task.yield() }
    }

    // MARK: Tokens

    @Test func anUploadFinishesOnlyWhenItsTokenIsCommitted() async throws {
        let bench = try Workbench(try FakeGigHive())
        let uploader = try bench.uploader(grouping: timer)
        let items = [UploadBatch.Item.ready(try bench.prepare())]
        let log = BatchLog()
        let run = Task { await uploader.batch(items, UploadBatch.Options(jobs: 2), log: log) }
        await waitForTimer()
        // The server has the file, and the response is on the disk.
        #expect(bench.server.files.count == 1)
        #expect(bench.rescueFiles.count == 1)
        #expect(try bench.row()?.state == .sending)
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(log.lines == ["began 0"])
        timer.expire(0)
        _ = await run.value
        #expect(log.lines == ["began 0", "ended 0"])
        #expect(log[0]?.state == .done)
        #expect(try bench.store.tokens(host: nil).count == 1)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test(arguments: [UploadBatch.Options(jobs: 1), UploadBatch.Options(jobs: 2, failFast: true)])
    func withoutFurtherUploadsATokenIsCommittedAtOnce(_ options: UploadBatch.Options) async throws {
        let bench = try Workbench(try FakeGigHive())
        let items = [UploadBatch.Item.ready(try bench.prepare())]
        _ = try await bench.uploader(grouping: timer).batch(items, options)
        #expect(try bench.store.tokens(host: nil).count == 1)
        #expect(timer.count == 0)
    }

    // MARK: Intents

    /// An upload that waits for a slot that will be free soon.
    private func waiting(_ bench: Workbench, _ slots: TransferSlots, lifetime: Duration = .seconds(60)) throws
        -> Uploader
    {
        var uploader = bench.uploader
        uploader.permit = TransferPermit(slots, plansAhead: true) {}
        uploader.intentLifetime = lifetime
        return uploader
    }

    private func takenSlots() async -> TransferSlots {
        let slots = TransferSlots(1, pace: TransferPace(window: .seconds(3600)))
        _ = await slots.take()
        return slots
    }

    private func waits(_ slots: TransferSlots) async {
        while slots.waitingCount == 0 { await Task.yield() }
    }

    @Test func anIntentWrittenAheadIsOwnedAndUsedByTheUpload() async throws {
        let bench = try Workbench(try FakeGigHive())
        let slots = await takenSlots()
        let uploader = try waiting(bench, slots)
        let upload = try bench.prepare()
        async let result = uploader.upload(upload)
        await waits(slots)
        let row = try #require(try bench.row())
        #expect(row.state == .sending)
        #expect(try UploadLock.acquire(row.uploadID, in: bench.directory) == nil)
        #expect(throws: GigHiveError.self) {
            try UploadOwnership.ofSource(upload, host: bench.host, in: bench.directory)
        }
        #expect(bench.server.uploads.isEmpty)
        slots.giveBack()
        #expect(await result.state == .done)
        #expect(try bench.row()?.uploadID == row.uploadID)
        #expect(try bench.row()?.state == .done)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func anUploadThatDoesNotStartLeavesNoIntent() async throws {
        let bench = try Workbench(try FakeGigHive())
        let slots = await takenSlots()
        let uploader = try waiting(bench, slots)
        let upload = try bench.prepare()
        async let result = uploader.upload(upload)
        await waits(slots)
        #expect(try bench.row() != nil)
        slots.close()
        #expect(await result.state == .cancelled)
        #expect(await result.uploadID == nil)
        #expect(try bench.row() == nil)
        #expect(bench.server.requests.isEmpty)
    }

    @Test func aSourceModifiedWhileWaitingLeavesNoIntent() async throws {
        let bench = try Workbench(try FakeGigHive())
        let slots = await takenSlots()
        let uploader = try waiting(bench, slots)
        let upload = try bench.prepare()
        async let result = uploader.upload(upload)
        await waits(slots)
        _ = try bench.file("other")
        slots.giveBack()
        #expect(await result.error?.code == .sourceChanged)
        #expect(try bench.row() == nil)
        #expect(bench.server.uploads.isEmpty)
    }

    /// A later process counts the server's maximum processing time from the time of the row.
    @Test func anOldIntentIsWrittenAgain() async throws {
        let times = Mutex<[Date]>([])
        let store = Mutex<TokenStore?>(nil)
        let bench = try Workbench.overriding { request, _, _, _ in
            if request.path == "/api/uploads.php",
                let row = try store.withLock({ $0 })?.uploads(states: [], host: nil).first
            {
                times.withLock { $0.append(row.updatedAt) }
            }
            return false
        }
        store.withLock { $0 = bench.store }
        let slots = await takenSlots()
        let uploader = try waiting(bench, slots, lifetime: .zero)
        let upload = try bench.prepare()
        async let result = uploader.upload(upload)
        await waits(slots)
        let planned = try #require(try bench.row())
        // Times are stored in milliseconds.
        while Date().timeIntervalSince(planned.updatedAt) < 0.002 { await Task.yield() }
        slots.giveBack()
        #expect(await result.state == .done)
        let seen = times.withLock { $0 }
        #expect(seen.count == 1)
        #expect(seen.allSatisfy { $0 > planned.updatedAt })
    }

    @Test func aLargeFileIsPlannedWhenItGetsItsSlot() async throws {
        let bench = try Workbench(try FakeGigHive())
        let slots = await takenSlots()
        let uploader = try waiting(bench, slots)
        let upload = try bench.prepare(String(repeating: "x", count: 1 << 20))
        async let result = uploader.upload(upload)
        await waits(slots)
        #expect(try bench.row() == nil)
        slots.giveBack()
        #expect(await result.state == .done)
    }
}

@Suite struct TransferPaceTests {
    @Test func theGroupSizeIsTheNumberOfRecentStarts() {
        let start = ContinuousClock.now
        var pace = TransferPace()
        #expect(pace.expectedCount(at: start) == 0)
        for milliseconds in 0..<10 { pace.noteBegin(at: start + .milliseconds(milliseconds)) }
        #expect(pace.expectedCount(at: start + .milliseconds(9)) == 10)
        #expect(pace.expectedCount(at: start + .milliseconds(25)) == 5)
        #expect(pace.expectedCount(at: start + .milliseconds(100)) == 0)
    }

    @Test func aGroupHasAtMost64Members() {
        let now = ContinuousClock.now
        var pace = TransferPace()
        for _ in 0..<1000 { pace.noteBegin(at: now) }
        #expect(pace.expectedCount(at: now) == 64)
    }

    @Test func onlyUploadsThatGetASlotSoonPlanAhead() async {
        let slots = TransferSlots(2, pace: TransferPace(window: .seconds(3600)))
        #expect(await slots.take())
        // A slot is free.
        #expect(!slots.planAhead())
        #expect(await slots.take())
        #expect(slots.planAhead() && slots.planAhead())
        // Only two uploads have begun, so only two may plan ahead.
        #expect(!slots.planAhead())
        slots.endPlanning()
        #expect(slots.planAhead())
        slots.endPlanning()
        #expect(!slots.planAhead(at: .now + .seconds(7200)))
        slots.close()
        #expect(!slots.planAhead())
    }
}
