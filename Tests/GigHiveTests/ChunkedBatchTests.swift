import Foundation
import MediaStore
import Synchronization
import TestSupport
import Testing
import Tus

@testable import GigHive

/// Parallel uploads to a server that allows a total of five unfinished ones for all users (gighive-d4 contract 4.5).
@Suite struct ChunkedBatchTests {
    /// Uploads a batch over tus.
    /// - Returns: The events, and the maximum number of uploads that were created and not completed on the server.
    private func run(_ bench: ResumableBench, files: Int, byteCount: Int, jobs: Int) async throws -> (BatchLog, Int) {
        let items = try (0..<files).map { index in
            UploadBatch.Item.ready(
                try bench.prepare(
                    try bench.file(byteCount, seed: UInt8(index), name: "c\(index).mp4"),
                    label: "l\(index)"
                )
            )
        }
        let log = await bench.uploader.batch(items, UploadBatch.Options(jobs: jobs))
        return (log, try await mostUnfinished(bench))
    }

    /// Computed from the requests, in the order of their arrival: an upload is unfinished from its creation to its last
    /// chunk.
    private func mostUnfinished(_ bench: ResumableBench) async throws -> Int {
        var unfinished = 0
        var most = 0
        var received: [String: Int] = [:]
        for request in try await bench.sandbox.requests() {
            switch request.method {
            case "POST" where request.path.hasPrefix("/files") && request.status == 201: unfinished += 1
            case "PATCH":
                received[request.path, default: 0] += request.bodyBytesRead
                if received[request.path] == bench.uploadBytes { unfinished -= 1 }
            default: break
            }
            most = max(most, unfinished)
        }
        return most
    }

    @Test(arguments: [(24, 16), (6, 6), (5, 4), (4, 1)])
    func atMostFourUploadsAreUnfinished(_ files: Int, _ jobs: Int) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(dialect: "d4"), retries: 3)
        let (log, most) = try await run(bench, files: files, byteCount: bench.uploadBytes, jobs: jobs)
        for index in 0..<files { #expect(log[index]?.state == .done) }
        #expect(most <= TusSlots.limit)
        #expect(try await bench.sandbox.requests().allSatisfy { $0.status != 429 })
        #expect(try await bench.stored().count == files)
    }

    /// Two uploads by other users leave three slots: the fourth upload waits until another one of the same batch is
    /// complete.
    @Test func anUploadWithoutASlotWaitsForItsBatch() async throws {
        let sandbox = try await SandboxProcess.start(dialect: "d4", faults: ["tus-patch:slow=2000000"])
        let bench = try ResumableBench(sandbox, retries: 3)
        for _ in 0..<2 {
            _ = try await bench.uploader.tus.create(
                byteCount: 10,
                metadata: [TusMetadata("filename", "x.mp4"), TusMetadata("filetype", "video/mp4")]
            )
        }
        let (log, _) = try await run(bench, files: 8, byteCount: bench.uploadBytes, jobs: 8)
        for index in 0..<8 {
            #expect(log[index]?.state == .done)
            #expect(log[index]?.transport == .tus)
        }
        #expect(try await bench.sandbox.requests().contains { $0.status == 429 })
    }

    /// An upload that is ended twice frees one slot.
    @Test func aFifthUploadWaits() async {
        let slots = TusSlots()
        var held: [TusSlot] = []
        for _ in 0..<TusSlots.limit { held.append(await slots.take()) }
        let steps = Locked<[String]>([])
        for name in ["fifth", "sixth"] {
            let next = Task {
                let slot = await slots.take()
                steps.withLock { $0.append(name) }
                return slot
            }
            // Without the limit, this upload would get a slot meanwhile.
            for _ in 0..<100 { await Task.yield() }
            steps.withLock { $0.append("end") }
            let ended = held.removeFirst()
            for _ in 0..<2 { ended.end() }
            held.append(await next.value)
        }
        #expect(steps.withLock { $0 } == ["end", "fifth", "end", "sixth"])
    }

    @Test func onlyAnUploadOnTheServerIsWaitedFor() async {
        let slots = TusSlots()
        let (first, second, third) = (await slots.take(), await slots.take(), await slots.take())
        #expect(await !first.waitForAnother())
        third.noteCreated()
        let hasEnded = Mutex(false)
        let watcher = Task {
            let isEnd = await first.waitForAnother()
            hasEnded.withLock { $0 = true }
            return isEnd
        }
        for _ in 0..<100 { await Task.yield() }
        #expect(!hasEnded.withLock { $0 })
        // Until the wait has begun, an end is not noticed.
        while !hasEnded.withLock({ $0 }) {
            second.noteCreated()
            second.noteAbandoned()
            await Task.yield()
        }
        #expect(await watcher.value)
    }
}

extension ResumableBench {
    /// The length of the files of a batch.
    fileprivate var uploadBytes: Int { 200_000 }
}
