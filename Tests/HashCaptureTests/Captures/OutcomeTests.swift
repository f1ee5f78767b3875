import CaptureSubmission
import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import HashCapture

/// How records go through what can happen on the way to a server.
@Suite struct OutcomeTests {
    /// What strikes one submission, where the record is then, how often it counts as sent, and what comes of a retry.
    struct Trouble: Sendable, CustomTestStringConvertible {
        var fault: String
        var state: CaptureRecord.State
        var code: OutcomeCode?
        var submissions: Int
        var testDescription: String { fault }
    }

    @Test(arguments: [
        Trouble(fault: "capture:status=503,times=1", state: .queued, code: .serverError, submissions: 0),
        Trouble(fault: "capture:status=429,times=1", state: .queued, code: .rateLimited, submissions: 0),
        // The server says by hash that it has nothing.
        Trouble(fault: "capture:status=500,times=1", state: .queued, code: .unknownOutcome, submissions: 0),
        // The answer was lost, and by hash it is there.
        Trouble(fault: "capture:drop-answer,times=1", state: .accepted, code: nil, submissions: 1),
        Trouble(fault: "capture:status-after=500,times=1", state: .accepted, code: nil, submissions: 1),
        Trouble(fault: "capture:truncate=3,times=1", state: .accepted, code: nil, submissions: 1),
        // Lost before the work: the server may still be at it, for all that this side knows.
        Trouble(
            fault: "capture:reset,after=body,times=1",
            state: .unknownOutcome,
            code: .unknownOutcome,
            submissions: 1
        ),
        Trouble(fault: "capture:status=502,times=1", state: .unknownOutcome, code: .unknownOutcome, submissions: 1),
    ])
    func troubleLeavesAnHonestStateAndARetryEndsIt(_ trouble: Trouble) async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        try await bench.sandbox?.addFaults(trouble.fault)
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == trouble.state)
        #expect(outcome.error?.code == trouble.code)
        #expect(outcome.record.submissions == trouble.submissions)
        #expect(try bench.library.capture(outcome.record.id) == outcome.record)

        let retried = try await bench.session.retry(outcome.record.id)
        #expect(retried.record.state == .accepted && retried.error == nil)
        #expect(try await bench.remotes().map(\.id) == [retried.record.serverCaptureID])
    }

    @Test func aLostResponseStaysUnknownWhileTheServerCannotBeQueried() async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        try await bench.sandbox?.addFaults("capture:drop-answer,times=1", "capture-read:status=503")
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .unknownOutcome && outcome.error?.code == .unknownOutcome)
        // Sending the file again is no way around the question.
        let again = try await bench.session.capture(try bench.request())
        #expect(again.isKnown && again.error?.code == .unknownOutcome)
        #expect(try await bench.session.retry(outcome.record.id).record.state == .unknownOutcome)
        try await bench.sandbox?.clearFaults()
        let settled = try await bench.session.retry(outcome.record.id)
        #expect(settled.record.state == .accepted)
        #expect(settled.record.serverCaptureID == (try await bench.remotes().first?.id))
        #expect(try await bench.submissions() == 1)
    }

    @Test func aDuplicateWithOurIDCountsAsAccepted() async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        let first = try await bench.session.capture(try bench.request())
        // As after a crash of this machine whose last step did not reach the disk.
        var record = first.record
        (record.state, record.serverCaptureID) = (.queued, nil)
        try bench.library.keep(record)
        let second = try await bench.session.retry(record.id)
        #expect(second.record.state == .accepted && second.record.httpStatus == 409)
        #expect(second.record.serverCaptureID == first.record.serverCaptureID)
        #expect(try await bench.submissions() == 2)
    }

    /// By its hash a server knows one capture: what was accepted meanwhile is not sent under another id.
    @Test func aTwinOfAnAcceptedRecordIsNotSent() async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        let first = try await bench.session.capture(try bench.request()).record
        var twin = first
        twin.id = UUID().uuidString.lowercased()
        (twin.state, twin.serverCaptureID, twin.submissions) = (.queued, nil, 0)
        try bench.library.keep(twin)
        let outcome = try await bench.session.retry(twin.id)
        #expect(outcome.isKnown && outcome.record.state == .accepted)
        #expect(outcome.record.serverCaptureID == first.serverCaptureID)
        #expect(try await bench.submissions() == 1)
    }

    /// Where no time may be told, the day is that of the submission, and not of an earlier try.
    @Test func anOldTryIsSentWithTheDayOfItsSubmission() async throws {
        let bench = try await CaptureBench(["--fault", "capture:status=503,times=1"])
        try await bench.register()
        var request = try bench.request()
        request.settings.timestamp = .none
        var record = try await bench.session.capture(request).record
        let text = String(decoding: try #require(record.unsignedBody), as: UTF8.self)
        record.unsignedBody = Array(text.replacing(/20\d\d-\d\d-\d\dT00:00:00Z/, with: "2020-01-01T00:00:00Z").utf8)
        try bench.library.keep(record)
        let sent = try await bench.session.retry(record.id).record
        #expect(sent.state == .accepted && sent.unsignedBody == record.unsignedBody)
        let body = String(decoding: try #require(sent.body), as: UTF8.self)
        #expect(!body.contains("2020-01-01") && body.contains("T00:00:00Z"))
    }

    @Test func aRecordOfAnotherServerIsLeftAlone() async throws {
        let bench = try await CaptureBench(["--fault", "capture:status=503,times=1"])
        try await bench.register()
        var record = try await bench.session.capture(try bench.request()).record
        record.server = "http://127.0.0.1:1"
        try bench.library.keep(record)
        let error = await #expect(throws: CaptureError.self) { try await bench.session.retry(record.id) }
        #expect(error?.code == .captureUnknown)
        #expect(try await bench.submissions() == 1)
    }

    @Test func anotherDevicesDuplicateIsRejected() async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        _ = try await bench.session.capture(try bench.request())
        let other = try CaptureBench(sandbox: bench.sandbox, address: bench.session.client.server.description)
        try await other.register()
        let outcome = try await other.session.capture(try other.request())
        #expect(outcome.record.state == .rejected && outcome.error?.code == .duplicate)
        let retried = try await other.session.retry(outcome.record.id)
        #expect(retried.isKnown && retried.error?.code == .duplicate)
        #expect(try await bench.submissions() == 2)
    }

    @Test func theReferenceServerGetsOneDeliberateResend() async throws {
        let bench = try await CaptureBench.atReference(["--fault", "capture:drop-answer,times=1"])
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .unknownOutcome && outcome.record.submissions == 1)
        #expect(try await bench.session.retry(outcome.record.id).error?.code == .unknownOutcome)
        #expect(try await bench.submissions() == 1)
        // It is there, so that this can only add a 500 (contract 1.3).
        let resent = try await bench.session.retry(outcome.record.id, .resend)
        #expect(resent.record.state == .unknownOutcome && resent.record.submissions == 2)
        #expect(resent.record.counter == 4)
        let again = try await bench.session.retry(outcome.record.id, .resend)
        #expect(again.error?.code == .unknownOutcome)
        #expect(try await bench.submissions() == 2)
    }

    /// A resend that fails on its way tells nothing about the first submission: no ordinary retry sends after that.
    @Test(arguments: ["capture:status=503,times=1", "signing", "key"])
    func aResendThatIsNotTakenLeavesTheOutcomeUnknown(_ trouble: String) async throws {
        let bench = try await CaptureBench.atReference(["--fault", "capture:drop-answer,times=1"])
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .unknownOutcome)
        var device = try bench.session.device()
        let source = device.keySource
        switch trouble {
        case "signing": device.keySource = .command(["/bin/false"])
        case "key": device.keySource = .file("nowhere.pem")
        default: try await bench.sandbox?.addFaults(trouble)
        }
        try bench.library.keep(device)
        let resent = try await bench.session.retry(outcome.record.id, .resend)
        #expect(resent.record.state == .unknownOutcome && resent.record.submissions == 1 && resent.error != nil)
        #expect(resent.record.body != nil)
        device.keySource = source
        try bench.library.keep(device)
        let submissions = try await bench.submissions()
        #expect(try await bench.session.retry(outcome.record.id).error?.code == .unknownOutcome)
        #expect(try await bench.submissions() == submissions)
        #expect(try await bench.session.retry(outcome.record.id, .resend).record.submissions == 2)
    }

    /// The question, too, is asked once more by the server's clock.
    @Test func anUnknownOutcomeIsFoundOutWithAWrongClock() async throws {
        let bench = try await CaptureBench(["--capture-clock=-900"])
        try await bench.register()
        var record = try await bench.session.capture(try bench.request()).record
        let id = record.serverCaptureID
        (record.state, record.serverCaptureID) = (.unknownOutcome, nil)
        try bench.library.keep(record)
        let retried = try await bench.session.retry(record.id)
        #expect(retried.record.state == .accepted && retried.record.serverCaptureID == id && id != nil)
        #expect(retried.record.httpStatus == 200)
    }

    @Test func aRefusedCaptureIsNotSentAgain() async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        try await bench.sandbox?.addFaults("capture:status=400,times=1")
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .rejected && outcome.error?.code == .badRequest)
        let retried = try await bench.session.retry(outcome.record.id)
        #expect(retried.isKnown && retried.error?.code == .badRequest)
        #expect(try await bench.submissions() == 1)
    }

    @Test func aCounterThatAnotherCopyOfTheKeyHasUsedIsNotSkipped() async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        // The copy, on a machine that counts for itself.
        let copy = try TemporaryDirectory()
        try FileManager.default.copyItem(atPath: bench.machine.file("data"), toPath: copy.file("data"))
        let other = try CaptureBench(
            sandbox: bench.sandbox,
            address: bench.session.client.server.description,
            machine: copy
        )
        #expect(try await other.session.capture(try other.request("a.jpg")).record.state == .accepted)
        #expect(try await other.session.capture(try other.request("b.jpg")).record.state == .accepted)
        let outcome = try await bench.session.capture(try bench.request("c.jpg"))
        #expect(outcome.record.state == .queued)
        #expect(outcome.error?.code == .counterOutdated)
        #expect(outcome.record.counter == 2)
    }

    // MARK: Signing

    @Test func signingMayFailThreeTimes() async throws {
        let bench = try await CaptureBench()
        var device = try await bench.register()
        let source = device.keySource
        device.keySource = .command(["/bin/false"])
        try bench.library.keep(device)
        let first = try await bench.session.capture(try bench.request())
        #expect(first.record.state == .pending && first.record.signingFailures == 1)
        #expect(first.error?.code == .signingFailed && first.record.body == nil)
        #expect(try await bench.session.retry(first.record.id).record.signingFailures == 2)
        #expect(try await bench.session.retry(first.record.id).record.signingFailures == 3)
        device.keySource = source
        try bench.library.keep(device)
        // Three are allowed, whatever became of the key.
        let refused = try await bench.session.retry(first.record.id)
        #expect(refused.record.signingFailures == 3 && refused.error?.code == .signingFailed)
        #expect(try await bench.submissions() == 0)
        #expect(try await bench.session.retry(first.record.id, .resend).record.state == .accepted)
    }

    /// One session, one question for the key, however many captures there are.
    @Test func aProgramIsAskedForTheVaultsKeyOnce() async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        let log = bench.machine.file("log")
        let key = String(repeating: "0a", count: 32)
        var dependencies = bench.session.dependencies
        dependencies.vaultKey = .command(["sh", "-c", "echo x >> '\(log)'; echo \(key)"])
        let session = CaptureSession(client: bench.session.client, profile: .mediactl1, dependencies: dependencies)
        let path = try bench.photo("a.jpg")
        let first = try await session.capture(bench.request(path)).record
        #expect(try await session.capture(try bench.request("b.jpg")).record.state == .accepted)
        #expect(try await session.verify(file: path, isOffline: true).isGood)
        _ = try await session.export(first.id, to: Array(bench.machine.file("copy").utf8), depthTo: nil)
        #expect(FileManager.default.contents(atPath: log) == Data("x\n".utf8))
    }

    @Test func aMissingKeyLeavesTheCapturePending() async throws {
        let bench = try await CaptureBench()
        try await bench.register()
        let keys = bench.directory.path + "/capture-keys"
        try FileManager.default.moveItem(atPath: keys, toPath: keys + "-away")
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .pending && outcome.error?.code == .keyUnusable)
        try FileManager.default.moveItem(atPath: keys + "-away", toPath: keys)
        #expect(try await bench.session.retry(outcome.record.id).record.state == .accepted)
    }
}
