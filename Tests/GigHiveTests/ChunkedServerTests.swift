import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing
import Tus

@testable import GigHive

/// Uploads over tus to servers that count chunks (gighive-d4 contract), against the sandbox.
@Suite struct ChunkedServerTests {
    private func start(faults: [String] = [], retries: Int = 3) async throws -> ResumableBench {
        try ResumableBench(try await SandboxProcess.start(dialect: "d4", faults: faults), retries: retries)
    }

    private func post(_ bench: ResumableBench) async throws -> Int { try await bench.count("POST", "/files/") }

    // MARK: Whole uploads

    @Test func anUploadIsVerifiedAndHasNoToken() async throws {
        let (bench, path) = try await start().withFile()
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(path), onEvent: log.add)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(!result.hasDeleteToken)
        #expect(result.warnings == [.noDeleteToken])
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await bench.count("PATCH", "/files/") == 10)
        #expect(try await bench.titles() == ["one"])
        // The missing token is reported before anything is sent.
        guard case .limited(TusLimits(isWithoutToken: true))? = log.all.first else {
            Issue.record("\(log.all)")
            return
        }
    }

    @Test func ignoredDetailsAreReported() async throws {
        let bench = try await start()
        let details = try UploadDetails.validated(
            eventDate: "2026-03-01",
            orgName: "Band",
            label: "one",
            participants: "A, B",
            keywords: "k",
            location: "here",
            rating: "3",
            notes: "n"
        )
        let names = ["participants", "keywords", "location", "rating", "notes"]
        let upload = try bench.uploader.prepare(try bench.file(), details: details)
        let result = await bench.uploader.upload(upload)
        #expect(result.warnings.contains(.detailsIgnored(names)))
    }

    @Test(
        arguments: [
            ("a.mkv", "bin"), ("a.m4a", "bin"), ("a.flac", "bin"), ("a.mov", "mov"), ("a.mp3", "mp3"), ("a.mp4", "mp4"),
        ]
    )
    func theLinkIsServed(_ name: String, _ pathExtension: String) async throws {
        let bench = try await start()
        let result = await bench.uploader.upload(try bench.prepare(try bench.file(70_000, name: name)))
        // The second upload is skipped, and its link comes from the listing.
        let again = await bench.uploader.upload(try bench.prepare(Array(bench.temporary.file(name).utf8)))
        #expect(again.state == .duplicate)
        for result in [result, again] {
            let link = try #require(result.mediaURL)
            #expect(link.hasSuffix(".\(pathExtension)"))
            let path = String(link.dropFirst(bench.client.server.description.count))
            let response = try await bench.client.http.execute(bench.client.request(.get, path))
            #expect(response.status == 200)
        }
    }

    @Test func aLongOrganizationIsNotSent() async throws {
        let bench = try await start()
        let row = try await bench.interrupted().row
        var details = try bench.details()
        details.orgName = String(repeating: "o", count: 129)
        #expect(await bench.uploader.resume(row, details: details).error?.code == .invalidDetail)
        #expect(try await post(bench) == 1)
    }

    @Test func aTypeThatTheServerRefusesIsNotSent() async throws {
        var bench = try await start()
        bench.options.anyExtension = true
        let result = await bench.uploader.upload(try bench.prepare(try bench.file(name: "a.xyz")))
        #expect(result.error?.code == .unsupportedMedia)
        #expect(try await post(bench) == 0)
    }

    // MARK: Known content

    /// The server responds with 201 and the existing file, and keeps its label (gighive-d4 contract section 6).
    @Test(arguments: [
        (false, "2026-03-01", UploadState.duplicate), (true, "2026-03-01", .duplicate), (false, "2026-03-02", .linked),
    ])
    func existingContentIsNotReportedAsANewFile(_ again: Bool, _ date: String, _ state: UploadState) async throws {
        var bench = try await start()
        #expect(await bench.uploader.upload(try bench.prepare(try bench.file())).state == .done)
        bench.options.again = again
        let copy = try bench.prepare(try bench.file(name: "copy.mp4"), label: "two", date: date)
        let result = await bench.uploader.upload(copy)
        #expect(result.state == state)
        #expect(result.fileID == 1)
        #expect(try await post(bench) == (again || state == .linked ? 2 : 1))
    }

    @Test func otherDetailsStartANewUpload() async throws {
        let bench = try await start()
        let row = try await bench.interrupted().row
        let log = EventLog()
        let result = await bench.uploader.resume(row, details: try bench.details(label: "two"), onEvent: log.add)
        #expect(result.state == .done)
        #expect(log.restarts.count == 1)
        #expect(log.hasLeftUnfinished)
        #expect(try await bench.titles() == ["two"])
        #expect(try await post(bench) == 2)
    }

    // MARK: Transport

    @Test(arguments: [("d3", 65, true), ("d4", 65, false), ("d4", 1025, true)])
    func autoPrefersMultipartForItsToken(_ dialect: String, _ mebibytes: Int, _ isTus: Bool) async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(dialect: dialect))
        bench.options.transport = .auto
        let path = bench.temporary.file("large.mp4")
        try Data().write(to: URL(fileURLWithPath: path))
        try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: UInt64(mebibytes << 20))
        let upload = try bench.prepare(Array(path.utf8))
        let features = try await bench.uploader.tusFeatures(for: upload, TransferControl(), { _ in })
        #expect((features != nil) == isTus)
    }

    @Test(arguments: ["d3", "d4"])
    func autoResumesAnInterruptedUpload(_ dialect: String) async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(dialect: dialect), retries: 3)
        let path = try await bench.interrupted().path
        bench.options.transport = .auto
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.state == .done)
        #expect(result.transport == .tus)
        #expect(try await post(bench) == 1)
    }

    // MARK: Interruptions

    /// Below 20 MiB the server keeps no byte of an incomplete chunk (gighive-d4 contract 4.3).
    @Test(
        arguments: [
            "reset,after=1", "reset,after=30000", "reset,after=65535", "drop-response", "status=408", "status=400",
        ]
    )
    func anInterruptedChunkIsSentAgain(_ fault: String) async throws {
        let (bench, path) = try await start(faults: ["tus-patch:\(fault),times=1,skip=3"]).withFile()
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await post(bench) == 1)
    }

    @Test(arguments: [ResumableBench.chunkBytes, 2 * ResumableBench.chunkBytes])
    func aResumedUploadKeepsItsChunkSize(_ chunkBytes: Int64) async throws {
        var bench = try await start()
        let path = try bench.file()
        #expect(try await bench.stopped(try bench.prepare(path)).state == .cancelled)
        let row = try #require(try bench.row())
        #expect(try bench.store.tusRecord(row.uploadID)?.parts.first?.chunkBytes == ResumableBench.chunkBytes)
        bench.options.chunks.chunkBytes = chunkBytes
        bench.options.chunks.maximumChunkBytes = 4 * chunkBytes
        let result = await bench.uploader.resume(row)
        #expect(result.state == .done)
        #expect(result.bytesSent < 640 << 10)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try await post(bench) == 1)
    }

    @Test func aResumptionWithoutAChunkSizeStartsANewUpload() async throws {
        let bench = try await start()
        let (path, row) = try await bench.interrupted()
        var record = try #require(try bench.store.tusRecord(row.uploadID))
        record.parts[0].chunkBytes = nil
        try await bench.store.save(record)
        let log = EventLog()
        let result = await bench.uploader.resume(row, onEvent: log.add)
        #expect(result.state == .done)
        #expect(log.hasLeftUnfinished)
        #expect(try await post(bench) == 2)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    // MARK: Failed uploads

    @Test func aFailedUploadIsRestartedOnce() async throws {
        let (bench, path) = try await start(faults: ["tus-patch:status=500,times=1,skip=2"]).withFile()
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(path), onEvent: log.add)
        #expect(result.state == .done)
        #expect(try await post(bench) == 2)
        #expect(log.restarts.count == 1)
        #expect(!log.hasLeftUnfinished)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    @Test func anUploadThatFailsTwiceIsNotResumable() async throws {
        let bench = try await start(faults: ["tus-patch:status=500,every=3"])
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .failed)
        #expect(result.error?.code == .serverError)
        #expect(try await post(bench) == 2)
        #expect(try !Uploader.isResumable(try #require(try bench.row()), in: bench.store))
    }

    // MARK: Unfinished uploads

    /// Uploads by other users that were never completed.
    private func leaveUnfinished(_ count: Int, on bench: ResumableBench) async throws {
        for _ in 0..<count {
            _ = try await bench.uploader.tus.create(
                byteCount: 10,
                metadata: [TusMetadata("filename", "x.mp4"), TusMetadata("filetype", "video/mp4")]
            )
        }
    }

    @Test func aFullServerGetsAMultipartUpload() async throws {
        let bench = try await start()
        try await leaveUnfinished(5, on: bench)
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()), onEvent: log.add)
        #expect(result.state == .done)
        #expect(result.transport == .multipart)
        #expect(result.hasDeleteToken)
        #expect(log.contains { if case .switching(.multipart, let error) = $0 { error.isPendingLimit } else { false } })
        #expect(try await post(bench) == 6)
    }

    @Test func aResumedUploadWithoutASlotIsSentByMultipart() async throws {
        let bench = try await start()
        let (path, row) = try await bench.interrupted()
        var record = try #require(try bench.store.tusRecord(row.uploadID))
        record.parts[0].tusID = "00000000-0000-4000-8000-000000000000"
        try await bench.store.save(record)
        try await leaveUnfinished(4, on: bench)
        let result = await bench.uploader.resume(row)
        #expect(result.state == .done)
        #expect(result.transport == .multipart)
        #expect(result.hasDeleteToken)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    @Test(arguments: 0...TusSlots.limit)
    func otherProcessesUseSlots(_ count: Int) async throws {
        let bench = try await start()
        let name = SourceLock.name(ofSlotOn: bench.client.server.scope, isGuest: false)
        let locks = try (0..<count).map { try #require(try UploadLock.acquire("\(name)-\($0)", in: bench.directory)) }
        let upload = try bench.prepare(try bench.file())
        let control = TransferControl()
        let running = Task { await bench.uploader.upload(upload, control: control) }
        if count == TusSlots.limit {
            try await Task.sleep(for: .milliseconds(300))
            #expect(try await post(bench) == 0)
            locks.last?.release()
        }
        #expect(await running.value.state == .done)
        for lock in locks { lock.release() }
    }

    @Test(arguments: [(1, 2, UploadState.done), (5, 2, .failed)])
    func aCreationIsRepeatedOnce(_ lost: Int, _ posts: Int, _ state: UploadState) async throws {
        let bench = try await start(faults: ["tus-create:drop-response,times=\(lost)"])
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == state)
        #expect(try await post(bench) == posts)
    }

    @Test func aDiscardedUploadStaysOnTheServer() async throws {
        let bench = try await start()
        let row = try await bench.interrupted().row
        let created = try #require(try bench.store.tusRecord(row.uploadID)?.parts.first?.createdAt)
        let result = await bench.uploader.discard(row)
        #expect(result.error == nil)
        #expect(result.state == .cancelled)
        #expect(result.warnings == [.keptByServer(until: created + 24 * 3600)])
        #expect(try !Uploader.isResumable(try #require(try bench.row()), in: bench.store))
        // The server still keeps the upload: a second discard is not a success.
        let again = await bench.uploader.discard(try #require(try bench.row()))
        #expect(again.error?.code == .notResumable)
        #expect(again.error?.detail == "nothing left to discard")
    }

    // MARK: Stored with the last chunk

    @Test func aStopAfterTheLastChunkIsReportedAsStored() async throws {
        let (bench, path) = try await start().withFile()
        let control = TransferControl()
        let result = await bench.uploader.upload(try bench.prepare(path), control: control) { event in
            if case .progress(let progress) = event, progress.bytesAcknowledged == 640 << 10 { control.stop() }
        }
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    @Test(arguments: ["finalize:drop-response,times=1", "finalize:status=504,times=1"])
    func aLostResponseCausesNoSecondUpload(_ fault: String) async throws {
        let bench = try await start(faults: [fault])
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(try await post(bench) == 1)
    }

    @Test func anUnfinishedFinalizeIsResolvedLater() async throws {
        let (bench, path) = try await start(faults: ["finalize:status=503"], retries: 0).withFile()
        let first = await bench.uploader.upload(try bench.prepare(path))
        // The server has the whole file, so it is not reported as failed.
        #expect(first.state == .unknownOutcome)
        try await bench.sandbox.clearFaults()
        let result = await bench.uploader.resolve(try #require(try bench.row()))
        #expect(result.state == .done)
        #expect(result.isVerified == true)
        #expect(try await bench.count("PATCH", "/files/") == 10)
    }

    // MARK: Guests

    @Test func aLostGuestReceiptIsReported() async throws {
        let secret = "CANARY-guest_0123456789abcdefghijklmnopqrst"
        let sandbox = try await SandboxProcess.start(
            dialect: "d4",
            faults: ["finalize:drop-response,times=1"],
            arguments: ["--event-link-token", "\(secret)=2026-03-01,Wedding,wedding,14"]
        )
        var bench = try ResumableBench(sandbox, retries: 3)
        let token = try #require(EventToken("\(sandbox.baseURL)/upload/\(secret)"))
        bench.options.guest = try await bench.client.guestAccess(token, displayName: nil).acceptingTerms()
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()), onEvent: log.add)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.guest == nil)
        #expect(result.warnings.contains(.guestReceiptLost))
        #expect(log.contains { if case .limited(let limits) = $0 { !limits.isWithoutToken } else { false } })
        // The server would register the same file a second time.
        let path = result.path
        let repeated = await bench.uploader.upload(try bench.prepare(path))
        #expect(repeated.state == .duplicate)
        #expect(repeated.isSkipped && repeated.bytesSent == 0)
        #expect(repeated.warnings == [.guestReceiptLost])
        #expect(try await post(bench) == 1)
        bench.options.again = true
        let again = await bench.uploader.upload(try bench.prepare(path))
        #expect(again.state == .done && again.guest != nil)
        #expect(try await post(bench) == 2)
    }

    // MARK: Doctor

    @Test func theCheckReportsTheDialect() async throws {
        let bench = try await start()
        let checks = await ServerCheckup(client: bench.client, maximumBytes: 1 << 40).run()
        let tus = try #require(checks.first { $0.name == "tus" })
        #expect(tus.status == .passed)
        #expect(tus.facts["dialect"] == "d4")
        #expect(tus.detail.contains("no delete tokens"))
    }

    @Test(arguments: ["name", "kind", "health", "login", "tus"])
    func aCanceledCheckupHasNoFurtherResults(last: String) async throws {
        let bench = try await start()
        let client = bench.client
        let checkup = Task {
            await ServerCheckup(client: client, maximumBytes: 1 << 40).run { check in
                if check.name == last { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        let checks = await checkup.value
        #expect(checks.map(\.name) == Array(ServerCheckup.names.prefix { $0 != last }) + [last])
        #expect(try await post(bench) == 0)
    }

    @Test func aCanceledRequestIsNotAnUnexpectedResponse() async throws {
        let bench = try await start(faults: ["tus-options:delay-response=600"])
        let client = bench.client
        let checkup = Task { await ServerCheckup(client: client, maximumBytes: 1 << 40).run() }
        try await bench.sandbox.waitForRequests { $0.contains { $0.method == "OPTIONS" } }
        checkup.cancel()
        let last = await checkup.value.last
        try await bench.sandbox.clearFaults()
        #expect(last?.name == "tus" && last?.status == .failed && last?.error?.code == .cancelled)
    }
}
