import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing
import Tus

@testable import GigHive

/// Uploads over tus against the sandbox: sent in chunks, interrupted, and resumed.
@Suite struct ResumableUploadTests {
    @Test(arguments: ["d1", "d2", "d3"]) func aTusUploadIsStoredVerifiedAndDeletable(_ dialect: String) async throws {
        let (bench, path) = try ResumableBench(try await SandboxProcess.start(dialect: dialect)).withFile()
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(path), onEvent: log.add)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.transport == .tus)
        #expect(result.isVerified == true)
        #expect(result.hasDeleteToken)
        #expect(!result.isResumed)
        #expect(result.bytesSent == 640 << 10)
        #expect(result.checksumSHA256 == (try bench.checksum(path)))
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await bench.count("PATCH", "/files/") == 10)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 1)
        #expect(log.contains { if case .finalizing = $0 { true } else { false } })
        let row = try #require(try bench.row())
        #expect(row.state == .done)
        #expect(row.transport == .tus)
        #expect(try !Uploader.isResumable(row, in: bench.store))
        #expect(try bench.store.tokens(host: nil).map(\.fileID) == [result.fileID])
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test func aStoppedUploadResumesWhereItStopped() async throws {
        let (bench, path) = try ResumableBench(try await SandboxProcess.start()).withFile()
        let stopped = try await bench.stopped(try bench.prepare(path))
        #expect(stopped.state == .cancelled)
        #expect(stopped.error?.code == .cancelled)
        let row = try #require(try bench.row())
        #expect(row.state == .sending)
        #expect(try Uploader.isResumable(row, in: bench.store))
        #expect(try await bench.stored().isEmpty)
        let before = try await bench.patchedBytes()

        let log = EventLog()
        let result = await bench.uploader.resume(row, details: nil, onEvent: log.add)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.isResumed)
        #expect(result.uploadID == row.uploadID)
        #expect(result.isVerified == true)
        #expect(result.bytesSent < 640 << 10)
        #expect(try await bench.patchedBytes() <= (640 << 10) + ResumableBench.chunkBytes)
        #expect(before + result.bytesSent >= 640 << 10)
        #expect(log.contains { if case .resuming(let offset) = $0 { offset >= 3 * (64 << 10) } else { false } })
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await bench.count("POST", "/files/") == 1)
    }

    // `printf hello | openssl dgst -sha1 -binary | base64`, and the same with -sha256.
    @Test(arguments: [
        ("", nil), ("sha1", "sha1 qvTGHdzF6KLavt4PO0gs2a6pQ00="),
        ("sha1,sha256", "sha256 LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="),
    ])
    func chunksHaveTheChecksumThatTheServerSupports(_ offered: String, _ expected: String?) async throws {
        let seen = Mutex<[String?]>([])
        let features =
            offered.isEmpty
            ? ["Tus-Extension: creation"]
            : ["Tus-Extension: creation,checksum", "Tus-Checksum-Algorithm: \(offered)"]
        let server = try FakeGigHive.withTus(features) { request, connection, _, _ in
            guard request.method == "PATCH" else { return false }
            let line = request.head.components(separatedBy: "\r\n").first { $0.hasPrefix("Upload-Checksum: ") }
            seen.withLock { $0.append(line.map { String($0.dropFirst("Upload-Checksum: ".count)) }) }
            try connection.respond(403, "no")
            return true
        }
        var bench = try Workbench(server)
        bench.options.transport = .tus
        _ = await bench.uploader.upload(try bench.prepare("hello", name: "a.mp4"))
        #expect(seen.withLock { $0 } == [expected])
    }

    @Test func standardInputIsKeptWhileItsUploadIsResumable() async throws {
        let (bench, path) = try ResumableBench(try await SandboxProcess.start()).withFile()
        func spools() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: bench.directory.path).filter { $0.hasPrefix("spool-") }
        }
        do {
            let input = try FileHandle(forReadingFrom: URL(fileURLWithPath: String(decoding: path, as: UTF8.self)))
            let spool = try SpoolFile(copying: input.fileDescriptor, to: bench.directory, limit: .max) { false }
            let upload = try bench.uploader.prepare(Array("in.mp4".utf8), spool: spool, details: try bench.details())
            #expect(try await bench.stopped(upload).state == .cancelled)
        }
        let row = try #require(try bench.row())
        SpoolFile.sweep(in: bench.directory) { Uploader.needsSpool($0, in: bench.store) }
        #expect(try spools().count == 1)

        let result = await bench.uploader.resume(row, details: nil)
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(result.isResumed)
        #expect(result.bytesSent < 640 << 10)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try spools().isEmpty)
    }

    @Test func aRepeatedCommandResumesWithTheNewLabel() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let path = try await bench.interrupted().path
        let result = await bench.uploader.upload(try bench.prepare(path, label: "other"))
        #expect(result.state == .done)
        #expect(result.isResumed)
        #expect(result.details?.label == "other")
        #expect(try bench.row()?.fields.first { $0.name == "label" }?.value == "other")
        #expect(try bench.store.tokens(host: nil).first?.label == "other")
        #expect(try await bench.count("POST", "/files/") == 1)
    }

    @Test func anotherEventIsAnotherUpload() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let path = try await bench.interrupted().path
        let result = await bench.uploader.upload(try bench.prepare(path, date: "2026-03-02"))
        #expect(result.state == .done)
        #expect(!result.isResumed)
        #expect(try await bench.count("POST", "/files/") == 2)
        #expect(
            try bench.store.uploads(states: [], host: nil).map(\.state).sorted { $0.rawValue < $1.rawValue } == [
                .done, .sending,
            ]
        )
    }

    @Test func aCompleteTransferIsOnlyFinalized() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:status=401,times=1"]))
        let path = try bench.file()
        let first = await bench.uploader.upload(try bench.prepare(path))
        #expect(first.state == .failed)
        #expect(first.error?.code == .unauthorized)
        #expect(try bench.row()?.state == .failed)
        let patched = try await bench.patchedBytes()
        let second = await bench.uploader.upload(try bench.prepare(path))
        #expect(second.state == .done)
        #expect(second.bytesSent == 0)
        #expect(second.hasDeleteToken)
        #expect(try await bench.patchedBytes() == patched)
    }

    @Test(arguments: ["tus-head:forget,times=1", "tus-head:expire,times=1"])
    func anUploadUnknownToTheServerIsRestarted(_ fault: String) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let path = try await bench.interrupted().path
        try await bench.sandbox.addFaults(fault)
        let log = EventLog()
        let result = await bench.uploader.resume(try #require(try bench.row()), details: nil, onEvent: log.add)
        #expect(result.state == .done)
        #expect(result.bytesSent == 640 << 10)
        #expect(log.restarts == [.uploadExpired])
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    // MARK: Changed files

    @Test(arguments: ["replaced", "gone"]) func aChangedFileIsNeverSpliced(_ change: String) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let path = try await bench.interrupted().path
        let name = bench.temporary.file("clip.mp4")
        if change == "gone" {
            unlink(name)
        } else {
            _ = try bench.file(seed: 9)
        }
        let row = try #require(try bench.row())
        let patched = try await bench.patchedBytes()
        let result = await bench.uploader.resume(row, details: nil)
        #expect(result.error?.code == (change == "gone" ? .notResumable : .sourceChanged))
        #expect(result.error?.value == row.uploadID)
        #expect(result.state == .sending)
        #expect(try bench.row() == row)
        #expect(try await bench.patchedBytes() == patched)
        guard change != "gone" else { return }
        let log = EventLog()
        let restarted = await bench.uploader.upload(try bench.prepare(path), onEvent: log.add)
        #expect(restarted.state == .done)
        #expect(!restarted.isResumed)
        #expect(restarted.bytesSent == 640 << 10)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(log.restarts == [.sourceChanged])
    }

    @Test func aRunEndedWithinAChunkIsFollowedByOneWithSmallerChunks() async throws {
        var bench = try ResumableBench(
            try await SandboxProcess.start(faults: ["tus-patch:stall,after=100000,times=2"])
        )
        bench.options.chunks = TusSendOptions(chunkBytes: 1 << 20, lock: .quickLock)
        let path = try bench.file(3 << 20)
        // A later run starts from the size of the interrupted chunk, even if a larger size is set.
        for (chunkBytes, begun) in [(1 << 20, 1 << 20), (8 << 20, 128 << 10)] as [(Int64, Int64)] {
            bench.options.chunks.chunkBytes = chunkBytes
            let control = TransferControl()
            let result = await bench.uploader.upload(try bench.prepare(path), control: control) { event in
                if case .progress(let progress) = event, progress.bytesAcknowledged > 0 { control.stop() }
            }
            #expect(result.state == .cancelled)
            let row = try #require(try bench.row())
            let part = try #require(try bench.store.tusRecord(row.uploadID)?.parts.first)
            #expect(part.lastChunk?.byteCount == begun)
        }
        try await bench.sandbox.clearFaults()
        let result = await bench.uploader.resume(try #require(try bench.row()))
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(try await bench.stored() == [try bench.checksum(path)])
        let sizes = try await bench.sandbox.requests().filter { $0.method == "PATCH" }.map(\.bodyBytesRead)
        #expect(sizes.contains(64 << 10))
        #expect(sizes.contains { $0 > 128 << 10 }, "chunks grow again: \(sizes)")
    }

    @Test(arguments: ["touched", "protected", "renamed"], [1, 2])
    func aFileWhoseStatusChangesDuringTheUploadIsUploaded(_ change: String, _ parts: Int) async throws {
        var bench = try ResumableBench(try await SandboxProcess.start())
        bench.options.parallelParts = parts
        let path = try bench.file()
        let name = bench.temporary.file("clip.mp4")
        let checksum = try bench.checksum(path)
        let result = await bench.uploader.upload(try bench.prepare(path)) { event in
            guard case .progress = event else { return }
            switch change {
            case "touched": utimes(name, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)])
            case "protected": chmod(name, 0o400)
            default: rename(name, name + ".renamed")
            }
        }
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(result.checksumSHA256 == checksum)
        #expect(try await bench.stored() == [checksum])
    }

    /// The stop is requested when all bytes are on the server.
    @Test(arguments: [1, 3]) func aStopEndsTheSecondReadingOfAChangedFile(_ parts: Int) async throws {
        var bench = try ResumableBench(try await SandboxProcess.start())
        bench.options.parallelParts = parts
        let path = try bench.file()
        let name = bench.temporary.file("clip.mp4")
        let control = TransferControl()
        let stopped = await bench.uploader.upload(try bench.prepare(path), control: control) { event in
            guard case .progress(let progress) = event, progress.bytesAcknowledged == 640 << 10 else { return }
            utimes(name, [timeval(tv_sec: 1, tv_usec: 0), timeval(tv_sec: 1, tv_usec: 0)])
            control.stop()
        }
        #expect(stopped.state == .cancelled, "\(String(describing: stopped.error))")
        #expect(try bench.row()?.checksumSHA256 == nil)
        #expect(try await bench.count("DELETE", "/files/") == 0)
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.state == .done && result.isResumed, "\(String(describing: result.error))")
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    @Test func aFileModifiedDuringTheUploadIsNotFinalized() async throws {
        let (bench, path) = try ResumableBench(try await SandboxProcess.start()).withFile()
        let name = bench.temporary.file("clip.mp4")
        let result = await bench.uploader.upload(try bench.prepare(path)) { event in
            guard case .progress(let progress) = event, progress.bytesAcknowledged > 0,
                let file = FileHandle(forWritingAtPath: name)
            else { return }
            try? file.write(contentsOf: Data("other".utf8))
            try? file.close()
        }
        #expect(result.state == .failed)
        #expect(result.error?.code == .sourceChanged)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 0)
        #expect(try await bench.count("DELETE", "/files/") == 1)
        let row = try #require(try bench.row())
        #expect(row.state == .failed)
        #expect(try !Uploader.isResumable(row, in: bench.store))
        let restarted = await bench.uploader.upload(try bench.prepare(path))
        #expect(restarted.state == .done)
    }

    @Test func aChangedPrefixWithUnchangedMetadataIsDetected() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let (path, row) = try await bench.interrupted()
        // Simulates content that changed without a change of the file status.
        var tus = try #require(try bench.store.tusRecord(row.uploadID))
        tus.parts[0].proofs = tus.parts[0].proofs.map { TusRecord.Proof(offset: $0.offset, digest: abcChecksum) }
        try await bench.store.save(tus)
        let result = await bench.uploader.resume(row, details: nil)
        #expect(result.state == .failed)
        #expect(result.error?.code == .sourceChanged)
        #expect(try await bench.count("DELETE", "/files/") == 1)
        #expect(try await bench.stored().isEmpty)
        let restarted = await bench.uploader.upload(try bench.prepare(path))
        #expect(restarted.state == .done)
        #expect(restarted.bytesSent == 640 << 10)
    }

    // MARK: One owner

    @Test func oneOfTwoConcurrentResumesWins() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let (path, row) = try await bench.interrupted()
        let uploader = bench.uploader
        let upload = try bench.prepare(path)
        async let first = uploader.resume(row, details: nil)
        async let second = uploader.resume(row, details: nil)
        async let third = uploader.upload(upload)
        let results = await [first, second, third]
        // One of the calls finishes the upload; the others find it in progress or finished.
        for result in results {
            #expect(
                [.done, .duplicate].contains(result.state)
                    || [.uploadInProgress, .notResumable].contains(result.error?.code),
                "\(result.state) \(String(describing: result.error))"
            )
        }
        #expect(results.contains { $0.state == .done })
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 1)
    }

    // MARK: Parts

    @Test func partsAreUploadedInParallelAndConcatenated() async throws {
        let sandbox = try await SandboxProcess.start(faults: ["tus-patch:delay-response=600,times=1"])
        var bench = try ResumableBench(sandbox)
        bench.options.parallelParts = 3
        let path = try bench.file()
        let (uploader, upload) = (bench.uploader, try bench.prepare(path))
        async let pending = uploader.upload(upload)
        // One part waits for its first response until the others have sent their first chunks.
        try await sandbox.waitForRequests { Set($0.filter { $0.method == "PATCH" }.map(\.path)).count == 3 }
        try await sandbox.clearFaults()
        let result = await pending
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(result.bytesSent == 640 << 10)
        #expect(try await bench.count("POST", "/files/") == 4)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        // Only the stored file remains on the server.
        #expect(try await bench.count("DELETE", "/files/") == 3)
        #expect(try await !bench.control(.get, "uploads").contains(#""offset":2"#))
    }

    @Test func stoppedPartsAreResumed() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start())
        bench.options.parallelParts = 3
        let path = try bench.file()
        let stopped = try await bench.stopped(try bench.prepare(path), afterChunks: 4)
        #expect(stopped.state == .cancelled)
        bench.options.parallelParts = 1
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.isResumed)
        #expect(result.bytesSent < 640 << 10)
        #expect(try await bench.count("POST", "/files/") == 4)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    @Test func aServerWithoutConcatenationGetsOnePart() async throws {
        var bench = try ResumableBench(
            try await SandboxProcess.start(arguments: ["--tus-extensions", "creation,termination"])
        )
        bench.options.parallelParts = 3
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .done)
        #expect(try await bench.count("POST", "/files/") == 1)
    }

    @Test(arguments: [UploadFailpoint.afterCreate, .midPatch, .afterPatch, .afterAllBytes])
    func partsOfAKilledProcessAreResumed(_ point: UploadFailpoint) async throws {
        var bench = try ResumableBench(try await SandboxProcess.start())
        bench.options.parallelParts = 3
        let path = try bench.file()
        try await ResumableKillTests.upload(dyingAt: point, bench, path, parts: 3)
        let result = await bench.uploader.resume(try #require(try bench.row()), details: nil)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await bench.patchedBytes() <= (640 << 10) + 3 * ResumableBench.chunkBytes)
    }

    @Test func anIDThatCannotBeFinalizedIsReportedBeforeTheTransfer() async throws {
        let fake = try FakeGigHive.withTus(["Tus-Extension: creation"], location: "/files/ab+cd")
        var bench = try Workbench(fake)
        bench.options.transport = .tus
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .unexpectedResponse)
        #expect(!fake.requests.contains { $0.method == "PATCH" })
    }

    // MARK: Which transport

    @Test func tusIsRefusedIfTheServerDoesNotSupportIt() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(arguments: ["--no-tus"]))
        #expect(try await bench.uploader.tusFeatures() == nil)
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .failed)
        #expect(result.error?.code == .tusUnavailable)
        #expect(try bench.row() == nil)
    }

    @Test(arguments: [true, false]) func autoUsesTusFrom64MiBIfSupported(_ isOffered: Bool) async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(arguments: isOffered ? [] : ["--no-tus"]))
        bench.options.transport = .auto
        bench.options.chunks = TusSendOptions()
        let small = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(small.transport == .multipart)
        #expect(try await bench.count("OPTIONS", "/files/") == 0)
        let path = try bench.file(1, name: "large.mp4")
        #expect(truncate(bench.temporary.file("large.mp4"), off_t(Uploader.smallestForTus)) == 0)
        let uploader = bench.uploader
        let large = await uploader.upload(try bench.prepare(path))
        #expect(large.state == .done)
        #expect(large.transport == (isOffered ? .tus : .multipart))
        _ = try await uploader.tusFeatures()
        #expect(try await bench.count("OPTIONS", "/files/") == 1)
    }

    @Test func aLoginThatMayNotUploadIsReportedBeforeAnythingIsSent() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(), user: "viewer")
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.error?.code == .unauthorized)
        #expect(try bench.row() == nil)
        #expect(try await bench.count("POST", "/") == 0)
        #expect(try await bench.sandbox.requests().allSatisfy { $0.bodyBytesRead == 0 })
    }

    @Test func anExistingFileIsFoundDuringTheTransfer() async throws {
        // The second machine's upload begins before the response to its query, and never completes.
        let sandbox = try await SandboxProcess.start()
        let other = try ResumableBench(sandbox)
        let first = await other.uploader.upload(try other.prepare(try other.file()))
        try await sandbox.addFaults("media:delay-response=1", "tus-patch:stall,after=body,skip=2")
        var bench = try ResumableBench(sandbox)
        bench.options.lookAheadBytes = 1
        var uploader = bench.uploader
        uploader.lookAheadDelay = .zero
        let result = await uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .duplicate)
        #expect(result.isSkipped)
        #expect(result.fileID == first.fileID)
        #expect(try bench.row()?.state == .duplicate)
        // Responses to deletions may arrive before the sandbox has logged them.
        try await sandbox.waitForRequests { seen in
            let deletions = seen.filter { $0.method == "DELETE" }
            return !deletions.isEmpty && deletions.allSatisfy { $0.isOver }
        }
        // Deletions are rejected until the server has noticed that the chunk's client has disconnected.
        let deletions = try await sandbox.requests().filter { $0.method == "DELETE" }
        #expect(deletions.last?.status == 204)
        #expect(deletions.dropLast().allSatisfy { $0.status == 423 })
        #expect(try !Uploader.isResumable(try #require(try bench.row()), in: bench.store))
    }

    /// The ID is in the response to the creation: without it, the upload would stay on the server until it expires.
    @Test(.timeLimit(.minutes(1)), arguments: [("1", true), ("600", false)])
    func aStopWaitsBrieflyForTheResponseToACreation(_ seconds: String, _ isKnown: Bool) async throws {
        let sandbox = try await SandboxProcess.start(faults: ["tus-create:delay-response=\(seconds),times=1"])
        let (bench, path) = try ResumableBench(sandbox).withFile()
        let control = TransferControl()
        let uploader = bench.uploader
        let upload = try bench.prepare(path)
        async let pending = uploader.upload(upload, control: control)
        try await sandbox.waitForRequests { $0.contains { $0.method == "POST" } }
        control.stop()
        #expect(await pending.state == .cancelled)
        let row = try #require(try bench.row())
        #expect(try (bench.store.tusRecord(row.uploadID)?.parts.first?.tusID != nil) == isKnown)
        guard isKnown else { return }
        #expect(await bench.uploader.resume(row).state == .done)
        #expect(try await bench.count("POST", "/files/") == 1)
    }

    // MARK: Networks

    @Test func interruptionsAreRetried() async throws {
        let faults = ["tus-patch:reset,after=30000,every=3", "tus-patch:status=503,every=5,skip=1"]
        let (bench, path) = try ResumableBench(try await SandboxProcess.start(faults: faults), retries: 4).withFile()
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.bytesSent > 640 << 10)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    @Test func aServerThatStaysUnavailableLeavesTheUploadResumable() async throws {
        let bench = try ResumableBench(
            try await SandboxProcess.start(faults: ["tus-patch:status=503,skip=4"]),
            retries: 1
        )
        let path = try bench.file()
        let first = await bench.uploader.upload(try bench.prepare(path))
        #expect(first.state == .failed)
        #expect(first.error?.code == .serverUnavailable)
        let row = try #require(try bench.row())
        #expect(row.state == .failed)
        #expect(row.failureCode == "server_unavailable")
        #expect(try Uploader.isResumable(row, in: bench.store))
        try await bench.sandbox.clearFaults()
        let second = await bench.uploader.resume(row, details: nil)
        #expect(second.error == nil)
        #expect(second.state == .done)
        #expect(second.bytesSent == 6 * ResumableBench.chunkBytes)
        #expect(try bench.row()?.failureCode == nil)
    }

    // MARK: Discarding

    @Test(arguments: [1, 3]) func aDiscardedUploadLeavesNothingOnTheServer(_ parts: Int) async throws {
        var bench = try ResumableBench(try await SandboxProcess.start())
        bench.options.parallelParts = parts
        let (path, row) = try await bench.interrupted()
        let result = await bench.uploader.discard(row)
        #expect(result.error == nil)
        #expect(result.state == .cancelled)
        #expect(try await bench.control(.get, "uploads") == "[]")
        let ended = try #require(try bench.row())
        #expect(ended.state == .cancelled)
        #expect(try !Uploader.isResumable(ended, in: bench.store))
        // The next one is a different upload.
        let restarted = await bench.uploader.upload(try bench.prepare(path))
        #expect(restarted.state == .done)
        #expect(restarted.bytesSent == 640 << 10)
        #expect(restarted.uploadID != row.uploadID)
    }

    @Test func anUnreachableServerKeepsAnUploadUnlessForced() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let row = try await bench.interrupted().row
        _ = try await bench.sandbox.stop()
        let refused = await bench.uploader.discard(row)
        #expect(refused.error?.code == .cannotConnect)
        #expect(try bench.row() == row)
        let forced = await bench.uploader.discard(row, evenUnreachable: true)
        #expect(forced.state == .cancelled)
        #expect(try bench.row()?.state == .cancelled)
    }

    // MARK: Querying

    @Test func anUnfinishedUploadIsNotQueried() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let row = try await bench.interrupted().row
        let requests = try await bench.sandbox.requests().count
        let result = await bench.uploader.resolve(row)
        #expect(result.state == .sending)
        #expect(result.error == nil)
        #expect(try bench.row() == row)
        #expect(try await bench.sandbox.requests().count == requests)
    }

    @Test func anInterruptedMultipartUploadIsSentAgain() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(faults: ["upload:reset,after=300000,times=1"]))
        bench.options.transport = .multipart
        let path = try bench.file()
        let first = await bench.uploader.upload(try bench.prepare(path))
        #expect(first.state == .failed)
        let result = await bench.uploader.resume(try #require(try bench.row()), details: nil)
        #expect(result.state == .done)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }
}
