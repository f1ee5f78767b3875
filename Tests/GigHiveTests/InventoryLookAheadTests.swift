import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

@Suite(.prompt) struct InventoryLookAheadTests {
    private static let size = 48 << 20

    /// A large file that occupies little disk space.
    private func largeFile(_ bench: SandboxBench, _ name: String) throws -> [UInt8] {
        let path = try bench.file("the beginning", name: name)
        #expect(truncate(bench.temporary.file(name), off_t(Self.size)) == 0)
        return path
    }

    /// A new run that starts its look-ahead early.
    private func eager(_ bench: SandboxBench, force: Bool = false) -> SandboxBench {
        var bench = bench.restarted(force: force)
        bench.uploader.lookAheadDelay = .zero
        return bench
    }

    @Test(arguments: ["elsewhere", "here"]) func aSlowTransferOfAFileAlreadyOnTheServerIsStopped(_ machine: String)
        async throws
    {
        let sandbox = try await SandboxProcess.start()
        let first = try sandbox.bench()
        let sent = await first.uploader.upload(try first.prepare(largeFile(first, "first.mp4")))
        #expect(sent.state == .done)
        try await sandbox.addFaults("upload:slow=1000000")
        let second = eager(machine == "here" ? first : try sandbox.bench())
        let result = await second.uploader.upload(try second.prepare(largeFile(second, "second.mp4")))
        #expect(result.state == .duplicate)
        #expect(result.isSkipped)
        #expect(result.error == nil)
        #expect(result.fileID == sent.fileID)
        #expect(result.checksumSHA256 == sent.checksumSHA256)
        #expect(result.isDeletableDuplicate == (machine == "here"))
        #expect(result.bytesSent < Self.size)
        let row = try second.store.uploads(states: [.duplicate], host: nil)
        #expect(row.map(\.fileID) == [sent.fileID])
        #expect(row.map(\.checksumSHA256) == [sent.checksumSHA256])
        #expect(try await second.client.listing().entries.count == 1)
    }

    @Test func tusTransfersAreStoppedAsWell() async throws {
        let sandbox = try await SandboxProcess.start()
        let sent = try await { () async throws in
            let first = try sandbox.bench()
            return await first.uploader.upload(try first.prepare(largeFile(first, "first.mp4")))
        }()
        try await sandbox.addFaults("tus-patch:slow=1000000")
        var second = eager(try sandbox.bench())
        second.uploader = second.uploader.over(.tus)
        let result = await second.uploader.upload(try second.prepare(largeFile(second, "second.mp4")))
        #expect(result.state == .duplicate)
        #expect(result.isSkipped)
        #expect(result.transport == .tus)
        #expect(result.fileID == sent.fileID)
        #expect(try second.store.uploads(states: [.duplicate], host: nil).count == 1)
        let requests = try await sandbox.requests()
        #expect(requests.contains { $0.method == "DELETE" && $0.path.hasPrefix("/files/") })
        #expect(!requests.contains { $0.path.hasPrefix("/api/uploads/finalize") })
    }

    @Test func anUnknownFileIsUploadedCompletely() async throws {
        let sandbox = try await SandboxProcess.start()
        let bench = eager(try sandbox.bench())
        let result = await bench.uploader.upload(try bench.prepare(largeFile(bench, "clip.mp4")))
        #expect(result.state == .done)
        #expect(!result.isSkipped)
        #expect(result.hasDeleteToken)
    }

    @Test func anUploadWhoseBodyWasSentIsNotStopped() async throws {
        let (sent, listed, go) = (Gate(), Gate(), Gate())
        var bench = try Workbench.overriding { request, _, _, number in
            switch request.path {
            case "/api/uploads.php" where number == 2:
                sent.open()
                go.wait()
            case "/api/uploads/18": sent.wait()
            case "/db/database.php": listed.open()
            default: break
            }
            return false
        }
        #expect(await bench.uploader.upload(try bench.prepare()).state == .done)
        bench.options.lookAheadBytes = 0
        var uploader = bench.uploader
        uploader.lookAheadDelay = .zero
        let waiting = Mutex(0)
        let upload = Task { [uploader] in
            await uploader.upload(try bench.prepare(name: "copy.mp4")) { event in
                if case .waitingForToken = event { waiting.withLock { $0 += 1 } }
            }
        }
        // The body has been sent, and the last query shows that the server has the file.
        #expect(await listed.opened())
        // Leaves time for the response to the query to stop the upload, which it must not.
        for _ in 0..<1000 { await Task.yield() }
        go.open()
        let result = try await upload.value
        #expect(result.state == .done)
        #expect(!result.isSkipped)
        #expect(result.hasDeleteToken)
        #expect(waiting.withLock { $0 } == 0)
    }

    @Test(arguments: ["small", "force", "cached"]) func nothingIsLookedUpWithoutABenefit(_ reason: String) async throws
    {
        let bench = try Workbench(try FakeGigHive())
        let upload = try bench.prepare()
        var options = bench.options
        options.lookAheadBytes = reason == "small" ? 4 : 0
        options.again = reason == "force"
        let hashes = HashCache(directory: bench.temporary.file("cache"))
        if reason == "cached", let identity = upload.identity {
            hashes.keep(abcChecksum, for: identity, readingBegan: Date(timeIntervalSinceNow: 60))
        }
        let uploader = Uploader(
            client: bench.client,
            store: bench.store,
            directory: bench.directory,
            options: options,
            hashes: hashes
        )
        #expect(LookAhead(uploader, upload, control: TransferControl()) == nil)
    }

    @Test func aStopReachesTheTransferThroughTheLinkedControl() async {
        let outer = TransferControl()
        let inner = outer.linked()
        inner.stop()
        #expect(!outer.isStopRequested)
        let other = outer.linked()
        outer.abandon()
        #expect(other.isAbandoned)
        #expect(outer.linked().isAbandoned)
    }

    @Test func aGracefulStopDoesNotReachARequestWhoseOutcomeIsDetermined() {
        let outer = TransferControl()
        let inner = outer.linked(onlyAbandon: true)
        outer.stop()
        #expect(!inner.isStopRequested)
        #expect(!outer.linked(onlyAbandon: true).isStopRequested)
        outer.abandon()
        #expect(inner.isAbandoned)
        #expect(outer.linked(onlyAbandon: true).isAbandoned)
    }

    /// A run with many transfers has one control.
    @Test func aLinkedControlEndsWithItsTransfer() {
        let outer = TransferControl()
        weak var ended: TransferControl?
        do {
            let inner = outer.linked()
            ended = inner
            outer.stop()
            #expect(inner.isStopRequested)
        }
        #expect(ended == nil)
    }
}

extension Uploader {
    fileprivate func over(_ transport: UploadOptions.TransportChoice) -> Uploader {
        var options = options
        options.transport = transport
        var uploader = Uploader(
            client: client,
            store: store,
            directory: directory,
            options: options,
            schedule: schedule,
            hashes: hashes
        )
        uploader.lookAheadDelay = lookAheadDelay
        return uploader
    }
}
