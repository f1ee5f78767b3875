import MediaStore
import Synchronization
import TestSupport
import Testing

@testable import GigHive

@Suite(.prompt) struct BatchTests {
    private func refused(_ bench: Workbench) -> UploadBatch.Item {
        var result = UploadResult(path: Array("x.txt".utf8), fileName: "x.txt", server: bench.host, state: .failed)
        result.error = GigHiveError(.unknownExtension)
        return .refused(result)
    }

    /// If the content of an upload starts with a status, responds with that status.
    private static func picky() throws -> FakeGigHive {
        try FakeGigHive { request, connection, _, _ in
            guard request.path == "/api/uploads.php", let status = Int(request.fileContent.prefix(3)) else {
                return false
            }
            try connection.respond(status, #"{"error":"Bad Request","message":"no"}"#)
            return true
        }
    }

    // MARK: Order

    @Test(
        arguments: [
            (.asGiven, [0, 1, 2, 3]), (.largestFirst, [1, 3, 0, 2]),
        ] as [(UploadBatch.Order, [Int])]
    )
    func filesAreStartedInOrder(_ order: UploadBatch.Order, _ expected: [Int]) async throws {
        let bench = try Workbench(try FakeGigHive())
        let items = try bench.items(["bb", "dddd", "b", "cccc"])
        let log = await bench.uploader.batch(items, UploadBatch.Options(order: order))
        #expect(log.begun == expected)
        #expect(log.ended == expected)
        #expect(bench.server.uploads.count == 4)
    }

    @Test func aRejectedItemIsReportedInOrder() async throws {
        let bench = try Workbench(try FakeGigHive())
        var items = try bench.items(2)
        items.insert(refused(bench), at: 1)
        let log = await bench.uploader.batch(items)
        #expect(log.lines == ["began 0", "ended 0", "ended 1", "began 2", "ended 2"])
        #expect(log[1]?.error?.code == .unknownExtension)
    }

    @Test func anEmptyBatchFinishes() async throws {
        #expect(try await Workbench(FakeGigHive()).uploader.batch([]).lines.isEmpty)
    }

    @Test(arguments: [1, 3, 8]) func theNumberOfParallelTransfersIsTheNumberOfJobs(_ jobs: Int) async throws {
        let running = Mutex((now: 0, most: 0))
        let all = Gate()
        let bench = try Workbench.overriding { request, _, _, _ in
            guard request.path == "/api/uploads.php" else { return false }
            let isFull = running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
                return running.now == jobs
            }
            if isFull {
                for _ in 0..<12 { all.open() }
            }
            all.wait()
            running.withLock { $0.now -= 1 }
            return false
        }
        // The first upload to an event is exclusive.
        let items: [UploadBatch.Item] = try (10..<22).map { number in
            .ready(try bench.prepare("\(number)", name: "\(number).mp4", date: "2026-03-\(number)"))
        }
        let log = await bench.uploader.batch(items, UploadBatch.Options(jobs: jobs))
        #expect(log.ended.sorted() == Array(0..<12))
        #expect(running.withLock { $0.most } == jobs)
        #expect(bench.rescueFiles.isEmpty)
    }

    // MARK: Other processes

    @Test(arguments: [1, 4]) func aFileThatAnotherProcessIsUploadingComesLast(_ jobs: Int) async throws {
        let bench = try Workbench(try FakeGigHive())
        let uploads = try (0..<5).map { try bench.prepare("\($0)", name: "\($0).mp4") }
        let lock = try UploadOwnership.ofSource(uploads[0], host: bench.host, in: bench.directory)
        let ended = Atomic(0)
        // The other process continues until all other files are finished: if it stopped earlier, the first file might
        // not have been attempted yet.
        let log = await bench.uploader.batch(uploads.map { .ready($0) }, UploadBatch.Options(jobs: jobs)) { event in
            if case .ended = event, ended.add(1, ordering: .relaxed).newValue == 4 { lock?.release() }
        }
        #expect(log.begun.sorted() == Array(0..<5))
        #expect(log.begun.last == 0 && log.ended.sorted() == Array(0..<5))
        #expect(log[0]?.state == .done)
    }

    @Test func aFileThatAnotherProcessKeepsUploadingIsReportedOnce() async throws {
        let bench = try Workbench(try FakeGigHive())
        let uploads = try (0..<3).map { try bench.prepare("\($0)", name: "\($0).mp4") }
        let lock = try UploadOwnership.ofSource(uploads[0], host: bench.host, in: bench.directory)
        defer { lock?.release() }
        let log = await bench.uploader.batch(uploads.map { .ready($0) })
        #expect(log.lines == ["began 1", "ended 1", "began 2", "ended 2", "began 0", "ended 0"])
        #expect(log[0]?.error?.code == .uploadInProgress)
        #expect(bench.server.uploads.count == 2)
    }

    // MARK: Failures

    @Test(arguments: [true, false]) func aFailureStopsABatchOnlyOnRequest(_ failFast: Bool) async throws {
        let bench = try Workbench(try Self.picky())
        let items = try bench.items(["a", "400", "b"])
        let log = await bench.uploader.batch(items, UploadBatch.Options(failFast: failFast))
        #expect(log.ended == (failFast ? [0, 1] : [0, 1, 2]))
        #expect(log[1]?.error?.code == .badRequest)
        #expect(bench.server.uploads.count == (failFast ? 2 : 3))
    }

    @Test func aRejectedItemCountsAsAFailure() async throws {
        let bench = try Workbench(try FakeGigHive())
        let items = [refused(bench), .ready(try bench.prepare())]
        let log = await bench.uploader.batch(items, UploadBatch.Options(failFast: true))
        #expect(log.lines == ["ended 0"])
        #expect(bench.server.requests.isEmpty)
    }

    @Test func aDuplicateIsNotAFailure() async throws {
        let bench = try Workbench.overriding { request, connection, server, number in
            guard request.path == "/api/uploads.php", number == 1 else { return false }
            server.store("a", id: 7)
            try connection.respond(409, #"{"existing_asset_id":7}"#)
            return true
        }
        let items = try bench.items(["a", "b"])
        let log = await bench.uploader.batch(items, UploadBatch.Options(failFast: true))
        #expect(log[0]?.state == .duplicate)
        #expect(log[1]?.state == .done)
    }

    // MARK: The same file twice

    @Test(arguments: [1, 4]) func aFileSpecifiedTwiceIsUploadedOnce(_ jobs: Int) async throws {
        let bench = try Workbench(try FakeGigHive())
        let upload = try bench.prepare()
        let other = try bench.prepare("other", name: "other.mp4")
        let items: [UploadBatch.Item] = [.ready(upload), .ready(upload), .ready(other), .ready(upload)]
        let log = await bench.uploader.batch(items, UploadBatch.Options(jobs: jobs))
        #expect(log.ended.sorted() == [0, 1, 2, 3])
        #expect(bench.server.uploads.count == 2)
        let results = [0, 1, 3].compactMap { log[$0] }
        let sent = try #require(results.first { $0.state == .done })
        #expect(results.filter { $0.state == .duplicate && $0.isSkipped }.count == 2)
        #expect(Set(results.map(\.fileID)) == [sent.fileID])
        #expect(Set(results.map(\.uploadID)) == [sent.uploadID])
        #expect(results.allSatisfy { $0.hasDeleteToken })
        #expect(results.allSatisfy { $0.isDeletableDuplicate == ($0.state == .duplicate) })
    }

    @Test func aFailedFileIsNotAttemptedTwice() async throws {
        let bench = try Workbench(try Self.picky())
        let upload = try bench.prepare("400")
        let log = await bench.uploader.batch([.ready(upload), .ready(upload)])
        #expect(log[1]?.state == .failed)
        #expect(log[1]?.error?.code == .badRequest)
        #expect(log[1]?.isSkipped == true)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func aFileForTwoEventsIsUploadedTwiceInSequence() async throws {
        let running = Atomic(0)
        let overlaps = Atomic(0)
        let bench = try Workbench.overriding { request, _, _, _ in
            guard request.path == "/api/uploads.php" else { return false }
            if running.add(1, ordering: .relaxed).newValue > 1 { overlaps.add(1, ordering: .relaxed) }
            running.subtract(1, ordering: .relaxed)
            return false
        }
        let path = try bench.file()
        let items: [UploadBatch.Item] = try ["2026-03-01", "2026-03-02", "2026-03-01"].map { date in
            .ready(try bench.prepare(path, date: date))
        }
        let log = await bench.uploader.batch(items, UploadBatch.Options(jobs: 3))
        #expect([log[0]?.state, log[1]?.state] == [.done, .done])
        #expect(log[2]?.isSkipped == true)
        #expect(bench.server.uploads.count == 2)
        #expect(overlaps.load(ordering: .relaxed) == 0)
    }

    // MARK: Stopping

    /// Delays the responses of uploads after their bodies have arrived.
    private struct Slow {
        let reached = Gate()
        let go = Gate()

        func server() throws -> FakeGigHive {
            try FakeGigHive { request, _, _, _ in
                if request.path == "/api/uploads.php" {
                    reached.open()
                    go.wait()
                }
                return false
            }
        }
    }

    enum Way: CaseIterable { case stop, drain, cancel }

    @Test(arguments: Way.allCases) func aGracefulStopWaitsForTheTokenAndStartsNothing(_ way: Way) async throws {
        let slow = Slow()
        let bench = try Workbench(try slow.server())
        let items = try bench.items(3)
        let control = BatchControl()
        let batch = Task { await bench.uploader.batch(items, control: control) }
        #expect(await slow.reached.opened())
        switch way {
        case .stop: control.stop()
        case .drain: control.drain()
        case .cancel: batch.cancel()
        }
        slow.go.open()
        let log = await batch.value
        #expect(log.lines == ["began 0", "ended 0"])
        #expect(log[0]?.state == .done)
        #expect(log[0]?.hasDeleteToken == true)
        #expect(try bench.row()?.state == .done)
    }

    @Test func abandoningEndsAtOnceWithUnknownOutcomes() async throws {
        let slow = Slow()
        let bench = try Workbench(try slow.server())
        let items = try bench.items(3)
        let control = BatchControl()
        let batch = Task { await bench.uploader.batch(items, control: control) }
        #expect(await slow.reached.opened())
        control.abandon()
        let log = await batch.value
        slow.go.open()
        #expect(log.lines == ["began 0", "ended 0"])
        #expect(log[0]?.state == .unknownOutcome)
    }

    @Test func aBatchStoppedBeforeItRunsStartsNothing() async throws {
        let bench = try Workbench(try FakeGigHive())
        let control = BatchControl()
        control.stop()
        let items = [refused(bench), .ready(try bench.prepare())]
        #expect(await bench.uploader.batch(items, control: control).lines.isEmpty)
        #expect(bench.server.requests.isEmpty)
    }

    // MARK: Faults

    @Test func everyFileHasOneResultThatMatchesTheServer() async throws {
        let sandbox = try await SandboxProcess.start(faults: [
            "upload:early-status=503,times=5", "upload:reset,after=body,times=3",
        ])
        let bench = try sandbox.bench(retries: 9)
        let items: [UploadBatch.Item] = try (0..<60).map { index in
            .ready(try bench.prepare(bench.file("content \(index)", name: "\(index).mp4")))
        }
        let log = await bench.uploader.batch(items, UploadBatch.Options(jobs: 6))
        #expect(log.ended.sorted() == Array(0..<60))
        #expect(log.begun.sorted() == Array(0..<60))
        let results = (0..<60).compactMap { log[$0] }
        let stored = results.filter { $0.state == .done }.compactMap(\.fileID)
        #expect(stored.count == 60)
        #expect(try await bench.client.listing().entries.compactMap(\.fileID).sorted() == stored.sorted())
        #expect(try bench.store.tokens(host: nil).count == 60)
    }

    // MARK: The store

    @Test func aStoreFailureFailsEveryItemAndSendsNothing() async throws {
        let bench = try Workbench(try FakeGigHive())
        let items = try bench.items(4)
        try bench.execute("CREATE TRIGGER full BEFORE INSERT ON uploads BEGIN SELECT RAISE(ABORT, 'disk full'); END")
        let log = await bench.uploader.batch(items, UploadBatch.Options(jobs: 2))
        #expect(log.ended.sorted() == [0, 1, 2, 3])
        #expect((0..<4).allSatisfy { log[$0]?.error?.code == .storeUnusable })
        #expect(bench.server.uploads.isEmpty)
        #expect(bench.rescueFiles.isEmpty)
    }
}

@Suite(.prompt) struct TransferSlotsTests {
    private func waits(_ count: Int, _ slots: TransferSlots) async {
        while slots.waitingCount != count { await Task.yield() }
    }

    @Test func slotsAreGrantedInOrderOfRequest() async {
        let slots = TransferSlots(1)
        #expect(await slots.take())
        let granted = Locked<[Int]>([])
        await withTaskGroup(of: Void.self) { group in
            for number in 1...3 {
                group.addTask {
                    guard await slots.take() else { return }
                    granted.withLock { $0.append(number) }
                    slots.giveBack()
                }
                await waits(number, slots)
            }
            slots.giveBack()
        }
        #expect(granted.withLock { $0 } == [1, 2, 3])
        #expect(await slots.take())
    }

    @Test func closingRejectsAllWaiters() async {
        let slots = TransferSlots(1)
        #expect(await slots.take())
        async let second = slots.take()
        async let third = slots.take()
        await waits(2, slots)
        slots.close()
        #expect(await !second)
        #expect(await !third)
        slots.giveBack()
        #expect(await !slots.take())
    }

    @Test func aTransferUsesOneSlotAcrossItsAttempts() async {
        let slots = TransferSlots(1)
        let begun = Atomic(0)
        let permit = TransferPermit(slots) { begun.add(1, ordering: .relaxed) }
        for _ in 1...2 {
            #expect(await permit.begin())
            #expect(await permit.begin())
            permit.end()
            permit.end()
        }
        #expect(begun.load(ordering: .relaxed) == 1)
        #expect(await slots.take())
        slots.close()
        #expect(await !permit.begin())
    }
}

extension Workbench {
    /// Changes the database without using the store.
    func execute(_ sql: String) throws {
        let script = "import sqlite3,sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2])"
        let python = try ChildProcess.run("python3", ["-c", script, directory.path + "/tokens.sqlite", sql])
        #expect(python.status == 0, "\(python.errors)")
    }
}
