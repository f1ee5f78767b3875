import Foundation
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import GigHive

/// Failures that concern the whole run, and alternatives when one transport is limited.
@Suite(.prompt) struct RunFailureTests {
    @Test func aRejectedLoginEndsTheRun() async throws {
        let bench = try Workbench { _, connection, _, _ in
            try connection.respond(401, "<title>401 Unauthorized</title>", type: "text/html")
        }
        let log = await bench.uploader.batch(try bench.items(20), UploadBatch.Options(jobs: 4))
        #expect(bench.server.uploads.count == 1)
        #expect(log.ended.count == 1)
        #expect(log.ended.first.flatMap { log[$0] }?.error?.code == .unauthorized)
    }

    @Test(arguments: OutcomeTable.codes) func onlyLoginConnectionAndServerEndARun(_ code: OutcomeCode) {
        let ends: Set<OutcomeCode> = [
            .unauthorized, .loginRequired, .loginExpired, .unknownHost, .cannotConnect, .tlsFailed,
            .certificateUntrusted, .certificateNameMismatch,
            .pinnedKeyMismatch, .invalidEventLink, .termsNotAccepted, .serverUnavailable,
        ]
        #expect(GigHiveError(code).endsRun == ends.contains(code))
    }

    @Test func aConnectTimeoutEndsARunAndAnotherTimeoutDoesNot() {
        for (kind, endsRun) in [
            (TransportError.Kind.connectTimeout, true), (.stalled, false), (.responseTimeout, false),
        ] {
            #expect(GigHiveError.transport(TransportError(kind)).endsRun == endsRun)
        }
    }

    /// After a single 503, the retry of the upload succeeds; the first upload that uses up its retries ends the run.
    @Test(arguments: [(.max, 2, 1), (1, 21, 20)] as [(Int, Int, Int)])
    func aServerThatIsDownEndsTheRun(_ failures: Int, _ requests: Int, _ ended: Int) async throws {
        let bench = try Workbench.overriding(retries: 1) { request, connection, _, number in
            guard request.path == "/api/uploads.php", number <= failures else { return false }
            try connection.respond(503, "<title>503 Service Unavailable</title>", type: "text/html")
            return true
        }
        let log = await bench.uploader.batch(try bench.items(20), UploadBatch.Options(jobs: 4))
        #expect(bench.server.uploads.count == requests)
        #expect(log.ended.count == ended)
        #expect(log.begun.count == ended)
        #expect(ended == 20 || log[log.ended[0]]?.error?.code == .serverUnavailable)
    }

    /// A wait longer than the policy allows fails at once, and several waits are added up.
    @Test(arguments: [(121, 1), (60, 3), (1, 4)]) func aRetryAfterIsHonoredWithinLimits(
        _ seconds: Int,
        _ requests: Int
    ) {
        var outage = Backoff(RetryPolicy(retries: 3).outage)
        var count = 1
        while outage.next(after: GigHiveError(.serverUnavailable).with(\.retryAfterSeconds, seconds)) != nil {
            count += 1
        }
        #expect(count == requests)
    }

    /// When the server rejects the login or is unavailable, unfinished files that have no content on it are reported as
    /// not started; nothing is canceled.
    @Test(arguments: [401, 503]) func filesInProgressAreReportedAsNotStarted(_ status: Int) async throws {
        let bench = try Workbench.overriding(retries: 2) { request, connection, _, number in
            guard request.path == "/api/uploads.php", number > 1 else { return false }
            try connection.respond(status, "<title>No</title>", type: "text/html")
            return true
        }
        let log = await bench.uploader.batch(try bench.items(20), UploadBatch.Options(jobs: 4))
        let results = log.ended.compactMap { log[$0] }
        #expect(results.count == 2)
        #expect(results.count { $0.state == .done } == 1)
        #expect(results.count { $0.state == .failed && $0.error?.endsRun == true } == 1)
        #expect(log.begun.count == log.ended.count + log.withdrawn.count)
        // After the first upload: at most one request from each of the twelve workers, and the retries of one upload.
        #expect(bench.server.uploads.count <= 1 + 12 + 2)
    }

    /// The outcome of a request whose response was lost stays unknown, regardless of the error that ends the run.
    @Test func aLostResponseIsNeverNotStarted() async throws {
        let lost = Mutex(false)
        let bench = try Workbench.overriding(retries: 1) { request, connection, _, number in
            switch (request.method, number) {
            case ("POST", 1): return false
            case ("POST", 2):
                lost.withLock { $0 = true }
                throw CancellationError()
            case ("POST", _):
                try connection.respond(401, "<title>401 Unauthorized</title>", type: "text/html")
                return true
            default:
                guard lost.withLock({ $0 }) else { return false }
                try connection.respond(401, "<title>401 Unauthorized</title>", type: "text/html")
                return true
            }
        }
        let log = await bench.uploader.batch(try bench.items(6), UploadBatch.Options(jobs: 1))
        #expect(log.ended.compactMap { log[$0]?.state } == [.done, .unknownOutcome, .failed])
        #expect(log.withdrawn.isEmpty)
    }

    /// Queries before an upload do not wait for a server that is down; the upload does.
    @Test func queriesBeforeAnUploadAreBrief() async throws {
        let bench = try Workbench.overriding(retries: 1) { request, connection, _, _ in
            guard request.path != "/elsewhere" else { return false }
            try connection.respond(503, "<title>503 Service Unavailable</title>", type: "text/html")
            return true
        }
        let uploader = bench.uploader
        #expect(
            try await !uploader.inquiry(try bench.prepare(), checksum: String(repeating: "0", count: 64))
                .isServed(control: TransferControl())
        )
        #expect(bench.server.requests.count == 2)
        let finding = try await uploader.inventory.find(
            String(repeating: "0", count: 64),
            in: InventoryEvent(date: "2026-03-01", orgName: "Band"),
            control: TransferControl()
        )
        #expect(finding == .unavailable)
        #expect(bench.server.requests.count == 4)
    }

    /// PHP's limits (trap T23): a part that is too large, and a body that is too large.
    @Test(arguments: [
        (500, #"{"error":"Server Error","message":"Upload failed with code 1"}"#),
        (413, #"{"error":"Payload Too Large","message":"no file"}"#),
    ]) func aSizeThatOneRequestCannotCarryIsFinalForMultipart(_ status: Int, _ body: String) async throws {
        let bench = try Workbench(retries: 3) { _, connection, _, _ in
            try connection.respond(status, body)
        }
        let result = await bench.uploader.upload(try bench.prepare())
        #expect(result.state == .failed)
        #expect(result.error?.code == .payloadTooLarge)
        #expect(result.error?.isRetryable == false)
        #expect(bench.server.uploads.count == 1)
    }

    @Test func autoSwitchesToTusWhenOneRequestIsTooSmall() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(faults: ["upload:status=413"]))
        bench.options.transport = .auto
        let uploader = bench.uploader
        let first = await uploader.upload(try bench.prepare(try bench.file()))
        #expect(first.state == .done)
        #expect(first.transport == .tus)
        // The observed limit applies to the next file.
        let second = await uploader.upload(try bench.prepare(try bench.file(seed: 9, name: "two.mp4")))
        #expect(second.transport == .tus)
        #expect(try await bench.sandbox.requests().count { $0.path.hasPrefix("/api/uploads.php") } == 1)
    }

    @Test func autoUsesMultipartWhileTusIsDown() async throws {
        var bench = try ResumableBench(try await SandboxProcess.start(faults: ["tus-options:status=503"]))
        bench.options.transport = .auto
        let path = try bench.file(1)
        try #require(truncate(String(decoding: path, as: UTF8.self), off_t(Uploader.smallestForTus)) == 0)
        let result = await bench.uploader.upload(try bench.prepare(path))
        #expect(result.state == .done)
        #expect(result.transport == .multipart)
    }

    @Test(arguments: [
        (39_000 as Int64, 45 as Int64), (2_000_000, 46), (600_000_000, 330), (6_000_000_000, 330),
    ]) func theWaitForALostResponseFitsTheFile(_ byteCount: Int64, _ seconds: Int64) throws {
        var bench = try Workbench(try FakeGigHive())
        bench.options.processingTime = .seconds(330)
        #expect(bench.uploader.processingTime(forBytes: byteCount) == .seconds(seconds))
    }

    // MARK: Comparing with the listing

    @Test func aFileThatTheListingDoesNotHaveIsMissing() async throws {
        let bench = try Workbench(try FakeGigHive())
        let here = bench.server.store("abc")
        let elsewhere = bench.server.store("def", date: "2025-12-31")
        func upload(_ file: FakeFile, id: Int64? = nil, checksum: String? = nil) -> StoredUpload {
            StoredUpload(
                fileID: id ?? file.id,
                checksumSHA256: checksum ?? file.checksum,
                eventDate: "2026-03-01",
                orgName: "BAND"
            )
        }
        let uploads = [
            upload(here), upload(here, id: 99), upload(elsewhere),
            upload(here, checksum: String(repeating: "0", count: 64)),
        ]
        #expect(try await bench.client.missing(among: uploads) == [1, 2, 3])
    }
}
