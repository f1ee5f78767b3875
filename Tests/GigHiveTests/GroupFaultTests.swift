import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive
@testable import MediaStore

/// Failures of the store and lost responses while commits are grouped (docs/adr/0047).
@Suite(.prompt) struct GroupFaultTests {
    private let timer = ManualTimer()

    // MARK: A store that fails

    private static func trigger(_ condition: String, on table: String) -> String {
        """
        CREATE TRIGGER full BEFORE INSERT ON \(table) WHEN \(condition)
        BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END
        """
    }

    /// Nothing is sent without its intent; the other intents of the group are not affected.
    @Test func anIntentThatCannotBeStoredIsNotSent() async throws {
        let bench = try Workbench(try FakeGigHive())
        let condition = "CAST(NEW.path AS TEXT) LIKE '%bad.mp4'"
        try bench.execute(Self.trigger(condition, on: "uploads"))
        let slots = TransferSlots(0, pace: TransferPace(window: .seconds(3600)))
        // Two uploads have begun recently, so that two may plan ahead.
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
        let bench = try Workbench(
            try FakeGigHive { request, _, _, _ in
                if request.path == "/api/uploads.php", arrived.add(1, ordering: .relaxed).newValue == 20 {
                    try disk.fill()
                }
                return false
            }
        )
        let directory = try DataDirectory.open(disk.path + "/data")
        let store = try TokenStore(in: directory)
        let uploader = Uploader(client: bench.client, store: store, directory: directory, options: bench.options)
        let items = try (0..<60).map { number in
            UploadBatch.Item.ready(try bench.prepare("content \(number)", name: "\(number).mp4"))
        }
        let log = BatchLog()
        await UploadBatch(uploader: uploader, options: UploadBatch.Options(jobs: 8)).run(items) { log.note($0) }
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

    private static func uploadContents(to bench: Workbench, _ jobs: Int) async throws -> BatchLog {
        let items = try contents.map { UploadBatch.Item.ready(try bench.prepare($0, name: $0 + ".mp4")) }
        let log = BatchLog()
        let batch = UploadBatch(uploader: bench.uploader, options: UploadBatch.Options(jobs: jobs))
        await batch.run(items) { log.note($0) }
        return log
    }

    /// The server stores every fourth file and closes the connection, or responds with a proxy's status.
    @Test(arguments: [8, 16]) func aStoredFileWhoseResponseIsLostIsNotSentAgain(_ jobs: Int) async throws {
        let bench = try Workbench(
            try FakeGigHive { request, connection, server, _ in
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
            },
            retries: 3
        )
        let log = try await Self.uploadContents(to: bench, jobs)
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
        let bench = try Workbench(
            try FakeGigHive { request, connection, _, _ in
                guard request.path == "/api/uploads.php", let number = Self.number(request), number % 4 == 3,
                    lost.withLock({ $0.insert(request.fileContent).inserted })
                else { return false }
                connection.close()
                return true
            },
            retries: 3
        )
        let log = try await Self.uploadContents(to: bench, jobs)
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
    /// This uploader for one upload that may write its intent before it has a slot.
    fileprivate func planning(in slots: TransferSlots) -> Uploader {
        var uploader = self
        uploader.permit = TransferPermit(slots, plansAhead: true) {}
        return uploader
    }
}
