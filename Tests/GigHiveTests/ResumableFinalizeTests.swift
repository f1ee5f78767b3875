import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing
import Tus

@testable import GigHive

/// The outcome of an upload whose bytes are on the tus server, for each response to a finalize request (gighive
/// contract 4.3 and 4.4).
@Suite struct ResumableFinalizeTests {
    // MARK: The hook race

    @Test(arguments: [["--hook-wait", "0"], ["--hook-wait", "0.05"]])
    func theHookRaceIsRetried(_ arguments: [String]) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(arguments: ["--hook-delay", "0.4"] + arguments))
        let path = try bench.file()
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.hasDeleteToken)
        #expect(try await bench.stored().count == 1)
    }

    @Test func aHookThatNeverRunsLeavesTheUploadResumable() async throws {
        var bench = try ResumableBench(
            try await SandboxProcess.start(arguments: ["--hook-delay", "3600", "--hook-wait", "0"])
        )
        bench.options.processingTime = .seconds(330)
        let uploader = Uploader(
            client: bench.client,
            store: bench.store,
            directory: bench.directory,
            options: bench.options,
            schedule: OutcomeInquiry.Schedule(),
            finalizeRetry: RetryPolicy(delays: [.milliseconds(1), .milliseconds(1)])
        )
        let result = await uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .failed)
        #expect(result.error?.code == .serverError)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 3)
        #expect(try Uploader.isResumable(try #require(try bench.row()), in: bench.store))
    }

    @Test func missingBytesAreSentBeforeFinalizeIsRepeated() async throws {
        // The sandbox drops the upload when the finalize request arrives.
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:forget,times=1"]))
        let path = try bench.file()
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(path), onEvent: log.add)
        #expect(result.error == nil)
        #expect(result.state == .done)
        #expect(result.bytesSent == 2 * (640 << 10))
        #expect(log.restarts.count == 1)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    // MARK: Lost responses

    /// The server ignores or processes the finalize request, and the response is lost; after the cooldown, it is
    /// repeated.
    @Test(
        arguments: [
            ("finalize:status=504,times=1", UploadState.done),
            ("finalize:status=502,times=1", .done), ("finalize:status=425,times=1", .done),
            ("finalize:status-after=425,times=1", .tokenLost), ("finalize:status-after=499,times=1", .tokenLost),
            ("finalize:status-after=423,times=1", .tokenLost),
            ("finalize:reset,after=body,times=1", .done),
            ("finalize:drop-response,times=1", .tokenLost),
            ("finalize:status-after=504,times=1", .tokenLost),
            ("finalize:truncate=60,times=1", .tokenLost),
        ]
    )
    func aLostResponseIsFollowedByOneRepeatAfterTheCooldown(_ fault: String, _ end: UploadState) async throws {
        let (bench, path) = try ResumableBench(try await SandboxProcess.start(faults: [fault])).withFile()
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(path), onEvent: log.add)
        #expect(result.state == end, "\(String(describing: result.error))")
        #expect(result.fileID != nil)
        #expect(result.isVerified == true)
        #expect(result.hasDeleteToken == (end == .done))
        #expect(result.error?.code == (end == .tokenLost ? .tokenLost : nil))
        #expect(log.hasWaitedForServer)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 2)
        #expect(try await bench.stored() == [try bench.checksum(path)])
        #expect(try bench.row()?.state == end)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test func finalizeIsNotRepeatedWhileTheServerMayBeProcessing() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:status=504"]))
        bench.options.processingTime = .seconds(330)
        let control = TransferControl()
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()), control: control) { event in
            if case .waitingForServer(let rest) = event {
                // The wait lasts as long as the server may take to process a file of this size.
                #expect(rest > .seconds(40) && rest <= .seconds(46))
                control.stop()
            }
        }
        #expect(result.state == .unknownOutcome)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 1)
        let row = try #require(try bench.row())
        #expect(row.state == .unknownOutcome)
        // A later process waits for the same cooldown, and neither discards the upload nor starts a new one.
        let discarded = await bench.uploader.discard(row)
        #expect(discarded.error?.code == .unknownOutcome)
        let requested = TransferControl()
        let again = await bench.uploader.resume(row, details: nil, control: requested) { event in
            if case .waitingForServer = event { requested.stop() }
        }
        #expect(again.state == .unknownOutcome)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 1)
        #expect(try await bench.count("POST", "/files/") == 1)
    }

    @Test(.timeLimit(.minutes(4))) func theCooldownAppliesWhileTusHasTheBytes() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:status=504"]))
        bench.options.processingTime = .seconds(330)
        let control = TransferControl()
        let uploader = bench.uploader
        let upload = try bench.prepare(try bench.file())
        async let pending = uploader.upload(upload, control: control)
        while try await bench.count("HEAD", "/files/") < 3, try await bench.count("POST", "/api/uploads/finalize") < 2 {
        }
        control.stop()
        let result = await pending
        #expect(result.state == .unknownOutcome)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 1)
    }

    @Test(.timeLimit(.minutes(4))) func aClockThatWasSetBackDoesNotExtendTheCooldown() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start())
        let log = EventLog()
        let upload = try bench.prepare(try bench.file())
        var finalization = Finalization(
            "abc",
            details: upload.details,
            startedAt: nil,
            journal: TusJournal(TusRecord(uploadID: "u", parts: []), store: bench.store),
            uploader: bench.uploader,
            recorder: UploadOutcomeRecorder(planning: upload, over: .tus, bench.uploader),
            control: TransferControl(),
            onEvent: log.add
        )
        guard case .request = await finalization.waitForServer(since: Date() + 86_400, endsWhenGone: false) else {
            Issue.record("the wait was stopped")
            return
        }
        #expect(
            log.contains { event in
                if case .waitingForServer(let limit) = event { limit == bench.options.processingTime } else { false }
            }
        )
    }

    @Test func aMissingIDShortensTheCooldown() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:drop-response,times=1"]))
        bench.options.processingTime = .seconds(330)
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .tokenLost)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 2)
    }

    /// The client waits for the response as long as the server may need, even if its own response timeout is shorter:
    /// only this response has the token.
    @Test(arguments: [(1, 330), (600, 600)])
    func noResponseTimeoutIsShorterThanTheServers(_ set: Int, _ limit: Int)
        async throws
    {
        var bench = try ResumableBench(try await SandboxProcess.start())
        bench.options.timeouts.response = .seconds(set)
        let request = FinalizeRequest("ab", details: try bench.details(), sizeBytes: 1, bench.uploader)
        #expect(request.timeouts.response == .seconds(limit))
    }

    /// A later process counts the cooldown from the end of the request, not from its start.
    @Test(.timeLimit(.minutes(4))) func aFinalizeInFlightIsRecordedRepeatedly() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:stall,after=body,times=1"]))
        let control = TransferControl()
        let uploader = bench.uploader
        let upload = try bench.prepare(try bench.file())
        async let pending = uploader.upload(upload, control: control)
        var times: Set<Date> = []
        while times.count < 3 {
            if let row = try bench.row(), let time = try bench.store.tusRecord(row.uploadID)?.finalizeStartedAt {
                times.insert(time)
            }
            await Task.yield()
        }
        control.abandon()
        let result = await pending
        #expect(result.state == .unknownOutcome)
    }

    @Test func theRefusalReceivedByAKilledProcessIsNotWaitedFor() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:status=401,times=1"]))
        bench.options.processingTime = .seconds(330)
        let path = try bench.file()
        _ = await bench.uploader.upload(try bench.prepare(path))
        let row = try #require(try bench.row())
        // The process is killed after the response is in the rescue file and before it is in the journal.
        var tus = try #require(try bench.store.tusRecord(row.uploadID))
        tus.finalizeStartedAt = Date()
        try await bench.store.save(tus)
        try await bench.store.note(row.uploadID, UploadChange(state: .sent))
        do {
            let rescue = try RescueLog(in: bench.directory).reserve(for: row.uploadID)
            try rescue.begin(status: 401)
        }
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(path), onEvent: log.add)
        #expect(result.state == .done)
        #expect(!log.hasWaitedForServer)
        #expect(bench.rescueFiles.isEmpty)
    }

    @Test(arguments: [true, false]) func aFinalizeOfAKilledProcessIsResolved(_ byStatus: Bool) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:status=401,times=1"]))
        let path = try bench.file()
        _ = await bench.uploader.upload(try bench.prepare(path))
        let row = try #require(try bench.row())
        // The process is killed after it recorded the finalize request and before it sent it.
        var tus = try #require(try bench.store.tusRecord(row.uploadID))
        tus.finalizeStartedAt = Date()
        try await bench.store.save(tus)
        try await bench.store.note(row.uploadID, UploadChange(state: .sent))
        let left = try #require(try bench.row())
        let result =
            byStatus ? await bench.uploader.resolve(left) : await bench.uploader.upload(try bench.prepare(path))
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(result.hasDeleteToken)
        #expect(try await bench.stored().count == 1)
        #expect(try await bench.count("POST", "/files/") == 1)
    }

    // MARK: Duplicates

    @Test(arguments: ["d2", "d3"]) func existingBytesAreADuplicate(_ dialect: String) async throws {
        let sandbox = try await SandboxProcess.start(dialect: dialect)
        let other = try ResumableBench(sandbox)
        let first = await other.uploader.upload(try other.prepare(try other.file()))
        let bench = try ResumableBench(sandbox)
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .duplicate)
        #expect(result.fileID == first.fileID)
        #expect(result.error == nil)
        #expect(!result.hasDeleteToken)
        #expect(try bench.store.tokens(host: nil).isEmpty)
        #expect(try !Uploader.isResumable(try #require(try bench.row()), in: bench.store))
    }

    @Test func theSameBytesUnderAnotherEventAreStoredWithoutToken() async throws {
        let sandbox = try await SandboxProcess.start()
        let other = try ResumableBench(sandbox)
        _ = await other.uploader.upload(try other.prepare(try other.file()))
        let bench = try ResumableBench(sandbox)
        let result = await bench.uploader.upload(try bench.prepare(try bench.file(), date: "2026-04-01"))
        #expect(result.state == .linked)
        #expect(result.warnings == [.noDeleteToken])
        #expect(!result.hasDeleteToken)
    }

    @Test func theLoserOfARaceIsADuplicate() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:1062,times=1"]))
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .duplicate)
        #expect(result.fileID != nil)
    }

    /// A real server responds like this while its media directory is full or not writable. It still has the bytes, so
    /// they are neither sent again nor lost.
    @Test func bytesThatTheServerCannotStoreAreKeptForLater() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:unwritable"]))
        bench.options.processingTime = .milliseconds(50)
        let path = try bench.file()
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.state == .failed && result.error?.code == .serverError, "\(result)")
        #expect(try await bench.count("POST", "/files/") == 1)
        let row = try #require(try bench.row())
        #expect(try Uploader.isResumable(row, in: bench.store))

        try await bench.sandbox.clearFaults()
        let resumed = await bench.uploader.upload(try bench.prepare(path))
        #expect(resumed.state == .done && resumed.hasDeleteToken, "\(resumed)")
        #expect(try await bench.count("POST", "/files/") == 1)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    // MARK: Refusals

    @Test(arguments: ["finalize:status=401,times=1", "finalize:status=400,times=1", "finalize:status=413,times=1"])
    func aRefusalKeepsTheUploadForOtherDetails(_ fault: String) async throws {
        let (bench, path) = try ResumableBench(try await SandboxProcess.start(faults: [fault])).withFile()
        let first = await bench.uploader.upload(try bench.prepare(path))
        #expect(first.state == .failed)
        let row = try #require(try bench.row())
        #expect(row.state == .failed)
        let result = await bench.uploader.resume(row, details: try bench.details(label: "corrected"))
        #expect(result.state == .done, "\(String(describing: result.error))")
        #expect(result.bytesSent == 0)
        #expect(try bench.store.tokens(host: nil).first?.label == "corrected")
        #expect(try await bench.titles() == ["corrected"])
    }

    /// No detail makes the server accept this type (gighive contract 2.4): nothing is left to resume.
    @Test func anUnsupportedTypeIsNotResumable() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start())
        bench.options.anyExtension = true
        let path = Array(bench.temporary.file("notes.txt").utf8)
        try Data("only text".utf8).write(to: URL(fileURLWithPath: bench.temporary.file("notes.txt")))
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.state == .failed && result.error?.code == .badRequest)
        #expect(result.error?.detail == "Unsupported media type")
        let row = try #require(try bench.row())
        #expect(row.state == .failed)
        #expect(try !Uploader.isResumable(row, in: bench.store))
        #expect(try await bench.count("DELETE", "/files/") == 1, "the bytes are deleted on the server")
    }

    @Test func aTemporaryRefusalIsRetried() async throws {
        let bench = try ResumableBench(
            try await SandboxProcess.start(faults: ["finalize:status=429,times=2,retry-after=1"]),
            retries: 2
        )
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .done)
        #expect(try await bench.count("POST", "/api/uploads/finalize") == 3)
    }

    @Test func aServerErrorAfterStoringMeansALostToken() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:500-after-store,times=1"]))
        let path = try bench.file()
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.state == .tokenLost)
        #expect(result.fileID != nil)
        #expect(try await bench.stored() == [try bench.checksum(path)])
    }

    @Test(arguments: ["html", "whitespace=5000"]) func aTokenWithUnusualWrappingIsKept(_ fault: String) async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:\(fault),times=1"]))
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()))
        #expect(result.state == .done)
        #expect(try bench.store.tokens(host: nil).count == 1)
    }

    // MARK: Stopping

    @Test func aStopWhileTheServerStoresWaitsForTheToken() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:delay-response=0.5"]))
        let control = TransferControl()
        let log = EventLog()
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()), control: control) { event in
            log.add(event)
            if case .progress(let progress) = event, progress.phase == .processing { control.stop() }
        }
        #expect(result.state == .done)
        #expect(result.hasDeleteToken)
        #expect(log.contains { if case .waitingForToken = $0 { true } else { false } })
    }

    @Test func aStopWithATimeoutLeavesTheOutcomeUnknown() async throws {
        let bench = try ResumableBench(try await SandboxProcess.start(faults: ["finalize:stall,after=body,times=1"]))
        let control = TransferControl()
        let result = await bench.uploader.upload(try bench.prepare(try bench.file()), control: control) { event in
            if case .progress(let progress) = event, progress.phase == .processing {
                control.stop(finishWithin: .milliseconds(50))
            }
        }
        #expect(result.state == .unknownOutcome)
        #expect(try bench.row()?.state == .unknownOutcome)
        try await bench.sandbox.clearFaults()
        let resolved = await bench.uploader.resume(try #require(try bench.row()), details: nil)
        #expect(resolved.state == .done, "\(String(describing: resolved.error))")
    }
}
