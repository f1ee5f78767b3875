import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive
@testable import MediaStore

/// Stops, failures of the store, other processes and lost responses while commits are grouped (docs/adr/0047).
@Suite(.prompt) struct GroupFaultTests {
    private let timer = ManualTimer()

    /// A batch of four uploads. The first one is sent alone; the server responds to the others when a test allows it.
    private struct Group {
        let bench: Workbench
        let uploader: Uploader
        let control = BatchControl()
        let log = BatchLog()
        let run: Task<Void, Never>
        private let timer: ManualTimer
        private let responses = Gate()

        init(_ timer: ManualTimer, prepare: (Workbench) throws -> Void = { _ in }) throws {
            let (control, log, responses) = (control, log, responses)
            let bench = try Workbench.overriding { request, _, _, number in
                if request.path == "/api/uploads.php", number > 1 { responses.wait() }
                return false
            }
            try prepare(bench)
            let items = try ["a", "b", "c", "d"].map { name in
                UploadBatch.Item.ready(try bench.prepare("content of \(name)", name: "\(name).mp4"))
            }
            let uploader = try bench.uploader(grouping: timer)
            run = Task { _ = await uploader.batch(items, UploadBatch.Options(jobs: 4), control: control, log: log) }
            (self.bench, self.uploader, self.timer) = (bench, uploader, timer)
        }

        /// Waits until one upload is finished, and the responses to the others are stored: their tokens are one group.
        func gatherTokens() async {
            var expired = 0
            while bench.server.uploads.count < 4 || log.ended.isEmpty {
                if expired < timer.count {
                    timer.expire(expired)
                    expired += 1
                }
                await Task.yield()
            }
            for _ in 0..<3 { responses.open() }
            while uploader.store.commits.waitingCount != 3 { await Task.yield() }
        }

        /// Writes the group, and waits for the end of the batch.
        func finish() async {
            timer.expire(timer.count - 1)
            await run.value
        }

        var tokenCount: Int {
            get throws { try bench.store.tokens(host: nil).count }
        }

        var states: [UploadState] {
            get throws { try bench.store.uploads(states: [], host: nil).map(\.state) }
        }
    }

    // MARK: Stops

    enum Stop: CaseIterable { case stop, drain, cancel, abandon }

    @Test(arguments: Stop.allCases) func aStopLosesNoTokenOfTheGroup(_ stop: Stop) async throws {
        let group = try Group(timer)
        await group.gatherTokens()
        #expect(try group.tokenCount == 1)
        switch stop {
        case .stop: group.control.stop()
        case .drain: group.control.drain()
        case .cancel: group.run.cancel()
        case .abandon: group.control.abandon()
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(group.log.ended.count == 1)
        await group.finish()
        #expect(group.log.ended.sorted() == [0, 1, 2, 3])
        #expect((0..<4).allSatisfy { group.log[$0]?.state == .done && group.log[$0]?.hasDeleteToken == true })
        #expect(try group.tokenCount == 4)
        #expect(try group.states == Array(repeating: .done, count: 4))
        #expect(group.bench.rescueFiles.isEmpty)
    }

    // MARK: Another process

    /// The responses of the group are only in the rescue log, and the rows belong to uploads that may be running.
    @Test func anotherProcessAdoptsAndResolvesNothingOfTheGroup() async throws {
        let group = try Group(timer)
        await group.gatherTokens()
        let rows = try group.bench.store.uploads(states: [.sending], host: nil)
        #expect(rows.count == 3)
        #expect(try await RescueAdoption.run(store: group.bench.store, directory: group.bench.directory).isEmpty)
        for row in rows { #expect(await group.bench.uploader.resolve(row).error?.code == .uploadInProgress) }
        #expect(try group.tokenCount == 1)
        #expect(group.bench.rescueFiles.count == 1)
        await group.finish()
        #expect(try group.tokenCount == 4)
        #expect(group.bench.server.uploads.count == 4)
    }

    // MARK: A store that fails

    private static func trigger(_ condition: String, on table: String = "tokens") -> String {
        """
        CREATE TRIGGER full BEFORE INSERT ON \(table) WHEN \(condition)
        BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END
        """
    }

    @Test(arguments: [["c"], ["b", "c", "d"]]) func aTokenThatCannotBeStoredDoesNotAffectTheOthers(_ names: [String])
        async throws
    {
        let condition = names.map { "NEW.file_name = '\($0).mp4'" }.joined(separator: " OR ")
        let group = try Group(timer) { try $0.execute(Self.trigger(condition)) }
        await group.gatherTokens()
        await group.finish()
        for (index, name) in ["a", "b", "c", "d"].enumerated() {
            let result = try #require(group.log[index])
            let isStored = !names.contains(name)
            #expect(result.state == (isStored ? .done : .finalized))
            #expect(result.error?.code == (isStored ? nil : .tokenNotStored))
            #expect(result.hasDeleteToken == isStored && (result.unstoredToken == nil) == isStored)
        }
        #expect(try group.tokenCount == 4 - names.count)
        #expect(try group.states.count { $0 == .finalized } == names.count)
        #expect(try group.states.count { $0 == .done } == 4 - names.count)

        try group.bench.execute("DROP TRIGGER full")
        let adopted = try await RescueAdoption.run(store: group.bench.store, directory: group.bench.directory)
        #expect(adopted.count == names.count)
        let tokens = try group.bench.store.tokens(host: nil).map(\.token.secret)
        #expect(tokens.sorted() == group.bench.server.files.map(\.token).sorted())
        #expect(try group.states == Array(repeating: .done, count: 4))
        #expect(group.bench.rescueFiles.isEmpty)
    }

    /// Nothing is sent without its intent; the other intents of the group are not affected.
    @Test func anIntentThatCannotBeStoredIsNotSent() async throws {
        let bench = try Workbench(try FakeGigHive())
        let condition = "CAST(NEW.path AS TEXT) LIKE '%bad.mp4'"
        try bench.execute(Self.trigger(condition, on: "uploads"))
        let slots = TransferSlots(0, pace: TransferPace(window: .seconds(3600)))
        // Two uploads have started recently, so two may plan ahead.
        for _ in 0..<2 {
            slots.giveBack()
            #expect(await slots.take())
        }
        let waiting = try bench.uploader(grouping: timer)
        let good = try bench.prepare("good", name: "good.mp4")
        let bad = try bench.prepare("bad", name: "bad.mp4")
        async let sent = waiting.planning(in: slots).upload(good)
        while waiting.store.commits.waitingCount != 1 { await Task.yield() }
        async let refused = waiting.planning(in: slots).upload(bad)
        while waiting.store.commits.waitingCount != 2 { await Task.yield() }
        timer.expire(0)
        #expect(await refused.error?.code == .storeUnusable)
        slots.giveBack()
        #expect(await sent.state == .done)
        #expect(bench.server.uploads.map(\.fileContent) == ["good"])
        #expect(try bench.row()?.state == .done)
    }

    /// The disk becomes full when some responses have arrived, and stays full.
    @Test(.enabled(if: SmallDisk.isAvailable, SmallDisk.requirement))
    func aDiskThatBecomesFullDuringABatchLosesNoToken() async throws {
        let disk = try SmallDisk(kibibytes: 8192)
        let arrived = Atomic(0)
        let bench = try Workbench.overriding { request, _, _, _ in
            if request.path == "/api/uploads.php", arrived.add(1, ordering: .relaxed).newValue == 20 {
                try disk.fill()
            }
            return false
        }
        let directory = try DataDirectory.open(disk.path + "/data")
        let store = try TokenStore(in: directory)
        let uploader = Uploader(client: bench.client, store: store, directory: directory, options: bench.options)
        let items = try bench.items((0..<60).map { "content \($0)" })
        let log = await uploader.batch(items, UploadBatch.Options(jobs: 8))
        let results = try (0..<60).map { try #require(log[$0]) }
        let sent = results.count { $0.state == .done || $0.state == .finalized }
        #expect(sent == bench.server.files.count)
        // Most of the files were not sent, because their intents could not be stored.
        #expect((20..<60).contains(sent))
        for result in results where result.state != .done {
            #expect(result.error?.code == (result.state == .finalized ? .tokenNotStored : .storeUnusable))
        }
        let stored = try store.tokens(host: nil)
        #expect(stored.count == results.count { $0.state == .done })

        try disk.empty()
        _ = try await RescueAdoption.run(store: store, directory: directory)
        let tokens = try store.tokens(host: nil).map(\.token.secret)
        #expect(tokens.sorted() == bench.server.files.map(\.token).sorted())
    }

    // MARK: Lost responses

    private static let contents = (0..<64).map { "content \($0)" }

    /// The number of the file in a request.
    private static func number(_ request: FakeRequest) -> Int? {
        request.fileContent.split(separator: " ").last.flatMap { Int($0) }
    }

    /// The server stores every fourth file and closes the connection, or responds with a proxy's status.
    @Test(arguments: [8, 16]) func aStoredFileWhoseResponseIsLostIsNotSentAgain(_ jobs: Int) async throws {
        let bench = try Workbench.overriding(retries: 3) { request, connection, server, _ in
            guard request.path == "/api/uploads.php", let number = Self.number(request), number % 4 == 3 else {
                return false
            }
            server.store(request.fileContent)
            if number % 8 == 7 {
                try connection.respond(502, "<title>502 Bad Gateway</title>", type: "text/html")
            } else {
                connection.close()
            }
            return true
        }
        let log = await bench.uploader.batch(try bench.items(Self.contents), UploadBatch.Options(jobs: jobs))
        #expect(bench.server.uploads.map(\.fileContent).sorted() == Self.contents.sorted())
        let states = (0..<64).compactMap { log[$0]?.state }
        #expect(states.count { $0 == .done } == 48)
        #expect(states.count { $0 == .tokenLost } == 16)
        #expect(try bench.store.tokens(host: nil).count == 48)
        #expect(bench.rescueFiles.isEmpty)
    }

    /// Before a file is sent again, the server is queried for it.
    @Test(arguments: [8, 16]) func aFileThatWasNotStoredIsSentAgainOnlyAfterAQuery(_ jobs: Int) async throws {
        let lost = Mutex<Set<String>>([])
        let bench = try Workbench.overriding(retries: 3) { request, connection, _, _ in
            guard request.path == "/api/uploads.php", let number = Self.number(request), number % 4 == 3,
                lost.withLock({ $0.insert(request.fileContent).inserted })
            else { return false }
            connection.close()
            return true
        }
        let log = await bench.uploader.batch(try bench.items(Self.contents), UploadBatch.Options(jobs: jobs))
        #expect((0..<64).allSatisfy { log[$0]?.state == .done })
        #expect(bench.server.files.count == 64)
        #expect(lost.withLock { $0.count } == 16)
        let requests = bench.server.requests
        for content in lost.withLock({ $0 }) {
            let sent = requests.indices.filter { requests[$0].fileContent == content && requests[$0].method == "POST" }
            #expect(sent.count == 2)
            let path = "/video/\(FakeFile(id: 1, content: content).checksum).mp4"
            let first = try #require(sent.first)
            let last = try #require(sent.last)
            #expect(requests[first..<last].contains { $0.method == "HEAD" && $0.path == path })
        }
    }
}

extension Uploader {
    /// A copy of this uploader for one upload that may write its intent before it has a slot.
    fileprivate func planning(in slots: TransferSlots) -> Uploader {
        var uploader = self
        uploader.permit = TransferPermit(slots, plansAhead: true) {}
        return uploader
    }
}
