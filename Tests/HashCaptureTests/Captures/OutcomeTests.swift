import CaptureSubmission
import Foundation
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import HashCapture

/// The states of records for each failure of a submission.
@Suite struct OutcomeTests {
    /// A failure during one submission, the resulting state, how many submissions it counts as, and the result of a
    /// retry.
    struct Failure: Sendable, CustomTestStringConvertible {
        var fault: String
        var state: CaptureRecord.State
        var code: OutcomeCode?
        var submissions: Int
        var testDescription: String { fault }
    }

    @Test(arguments: [
        Failure(fault: "capture:status=503,times=1", state: .queued, code: .serverError, submissions: 0),
        Failure(fault: "capture:status=429,times=1", state: .queued, code: .rateLimited, submissions: 0),
        // The query by hash does not find a capture.
        Failure(fault: "capture:status=500,times=1", state: .queued, code: .serverError, submissions: 0),
        // The response was lost, and the query by hash finds the capture.
        Failure(fault: "capture:drop-response,times=1", state: .accepted, code: nil, submissions: 1),
        Failure(fault: "capture:status-after=500,times=1", state: .accepted, code: nil, submissions: 1),
        Failure(fault: "capture:truncate=3,times=1", state: .accepted, code: nil, submissions: 1),
        // Lost before the server processed it: as far as the client knows, the server may still be processing.
        Failure(
            fault: "capture:reset,after=body,times=1",
            state: .unknownOutcome,
            code: .unknownOutcome,
            submissions: 1
        ),
        Failure(fault: "capture:status=502,times=1", state: .unknownOutcome, code: .unknownOutcome, submissions: 1),
        // Not a duplicate: the response has the code DEVICE_ALREADY_REGISTERED, which concerns only registrations.
        Failure(fault: "capture:status=409,times=1", state: .unknownOutcome, code: .unknownOutcome, submissions: 1),
        // A proxy's page.
        Failure(fault: "capture:status=413,times=1", state: .queued, code: .payloadTooLarge, submissions: 0),
    ])
    func failuresLeaveACorrectStateThatARetryResolves(_ failure: Failure) async throws {
        let bench = try await CaptureBench.registered()
        try await bench.sandbox?.addFaults(failure.fault)
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == failure.state)
        #expect(outcome.error?.code == failure.code)
        #expect(outcome.record.submissions == failure.submissions)
        #expect(try bench.library.capture(outcome.record.id) == outcome.record)

        let retried = try await bench.session.retry(outcome.record.id)
        #expect(retried.record.state == .accepted && retried.error == nil)
        #expect(try await bench.remotes().map(\.id) == [retried.record.serverCaptureID])
    }

    @Test func aLostResponseStaysUnknownWhileTheServerCannotBeQueried() async throws {
        let bench = try await CaptureBench.registered()
        try await bench.sandbox?.addFaults("capture:drop-response,times=1", "capture-read:status=503")
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .unknownOutcome && outcome.error?.code == .unknownOutcome)
        // Submitting the file again does not bypass the query.
        let again = try await bench.session.capture(try bench.request())
        #expect(again.isKnown && again.error?.code == .unknownOutcome)
        #expect(try await bench.session.retry(outcome.record.id).record.state == .unknownOutcome)
        try await bench.sandbox?.clearFaults()
        let resolved = try await bench.session.retry(outcome.record.id)
        #expect(resolved.record.state == .accepted)
        #expect(resolved.record.serverCaptureID == (try await bench.remotes().first?.id))
        #expect(try await bench.submissions() == 1)
    }

    @Test func aDuplicateWithOurIDCountsAsAccepted() async throws {
        let bench = try await CaptureBench.registered()
        let first = try await bench.session.capture(try bench.request())
        // Simulates a crash of this machine before its last step was synced.
        var record = first.record
        (record.state, record.serverCaptureID) = (.queued, nil)
        try bench.library.keep(record)
        let second = try await bench.session.retry(record.id)
        #expect(second.record.state == .accepted && second.record.httpStatus == 409)
        #expect(second.record.serverCaptureID == first.record.serverCaptureID)
        #expect(!second.notices.contains(.acceptedEarlier))
        #expect(try await bench.submissions() == 2)
    }

    /// After a restore from a backup, the server has a capture that is not in the store, with its own data.
    @Test func aDuplicateOfAnUnknownCaptureIsAcceptedWithANotice() async throws {
        let bench = try await CaptureBench.registered()
        var first = try await bench.session.capture(try bench.request()).record
        first.server = "http://127.0.0.1:1"
        try bench.library.keep(first)
        var request = try bench.request()
        request.facts.deviceModel = "Other"
        let second = try await bench.session.capture(request)
        #expect(second.record.id != first.id && second.record.state == .accepted && second.error == nil)
        #expect(second.record.serverCaptureID == first.serverCaptureID)
        #expect(second.notices.contains(.acceptedEarlier))
        #expect(try await bench.submissions() == 2)
    }

    /// A server has one capture per hash: a file that was accepted in the meantime is not submitted with a different
    /// ID.
    @Test func aDuplicateOfAnAcceptedRecordIsNotSent() async throws {
        let bench = try await CaptureBench.registered()
        let first = try await bench.session.capture(try bench.request()).record
        var twin = first
        twin.id = UUID().uuidString.lowercased()
        (twin.state, twin.serverCaptureID, twin.submissions) = (.queued, nil, 0)
        try bench.library.keep(twin)
        for _ in 1...2 {
            let outcome = try await bench.session.retry(twin.id)
            #expect(outcome.isKnown && outcome.record == first)
            let closed = try #require(try bench.library.capture(twin.id))
            #expect(closed.state == .rejected && closed.errorCode == "duplicate" && closed.serverCaptureID == nil)
        }
        #expect(try await bench.submissions() == 1)
    }

    /// Unsent data is not on the server, although the media is.
    @Test func anAcceptedCaptureClosesTheUnsentOnesOfTheSameMedia() async throws {
        let bench = try await CaptureBench()
        var device = try await bench.register()
        let source = device.keySource
        device.keySource = .command(["/bin/false"])
        try bench.library.keep(device)
        let unsigned = try await bench.session.capture(try bench.request()).record
        #expect(unsigned.state == .pending)
        device.keySource = source
        try bench.library.keep(device)
        var request = try bench.request()
        request.facts.deviceModel = "Other"
        let accepted = try await bench.session.capture(request).record
        #expect(accepted.state == .accepted && accepted.id != unsigned.id)
        let closed = try #require(try bench.library.capture(unsigned.id))
        #expect(closed.state == .rejected && closed.body == nil && closed.serverCaptureID == nil)

        let retried = try await bench.session.retry(unsigned.id)
        #expect(retried.record == accepted && retried.isKnown && retried.error == nil)
        #expect(retried.notices == [.optionsNotSent([.deviceModel])])
        #expect(try await bench.submissions() == 1)
    }

    /// The ID of the server's capture must not be attributed to a record whose data the server does not have.
    @Test func anUnsentCaptureWaitsForTheOutcomeOfAnotherOneOfTheSameMedia() async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture:status=503,times=1"])
        let unsent = try await bench.session.capture(try bench.request()).record
        var request = try bench.request()
        request.facts.deviceModel = "Other"
        try await bench.sandbox?.addFaults("capture:drop-response,times=1", "capture-read:status=503")
        let sent = try await bench.session.capture(request).record
        #expect(unsent.state == .queued && sent.state == .unknownOutcome && sent.id != unsent.id)

        let waiting = try await bench.session.retry(unsent.id)
        #expect(waiting.record.id == sent.id && waiting.record.state == .unknownOutcome)
        #expect(waiting.error?.code == .unknownOutcome && waiting.isKnown)
        #expect(try bench.library.capture(unsent.id)?.state == .queued)
        try await bench.sandbox?.clearFaults()
        let retried = try await bench.session.retry(unsent.id)
        #expect(retried.record.id == sent.id && retried.record.state == .accepted && retried.error == nil)
        #expect(retried.notices == [.optionsNotSent([.deviceModel])])
        let remotes = try await bench.remotes().map(\.id)
        #expect(remotes.count == 1 && remotes.first == retried.record.serverCaptureID)
        let closed = try #require(try bench.library.capture(unsent.id))
        #expect(closed.state == .rejected && closed.serverCaptureID == nil)
        #expect(try await bench.submissions() == 2)
    }

    /// The request of the other capture may still be in transit.
    @Test func anUnsentCaptureIsNotSentWhileAnotherOneMayArrive() async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture:status=503,times=1"])
        let unsent = try await bench.session.capture(try bench.request()).record
        var request = try bench.request()
        request.facts.deviceModel = "Other"
        try await bench.sandbox?.addFaults("capture:reset,after=body,times=1")
        let sent = try await bench.session.capture(request).record
        #expect(unsent.state == .queued && sent.state == .unknownOutcome)
        let waiting = try await bench.session.retry(unsent.id)
        #expect(waiting.record.id == sent.id && waiting.error?.code == .unknownOutcome)
        #expect(try bench.library.capture(unsent.id)?.state == .queued)
        #expect(try await bench.session.retry(sent.id).record.state == .accepted)
        #expect(try bench.library.capture(unsent.id)?.state == .rejected)
    }

    /// A full upload whose request arrived after the query that did not find it; pending after a retry without its key.
    @Test(arguments: [CaptureRecord.State.queued, .pending])
    func anIDOfAnUnresolvedUploadIsNotThatOfAnotherCapture(_ state: CaptureRecord.State) async throws {
        let bench = try await CaptureBench.registered()
        let request = bench.request(try bench.photo(), depth: try bench.depthMap())
        var upload = try await bench.session.sendMedia(request).record
        let id = try #require(upload.serverCaptureID)
        (upload.state, upload.serverCaptureID) = (state, nil)
        try bench.library.keep(upload)
        let outcome = try await bench.session.capture(request)
        #expect(outcome.record.id == upload.id && outcome.record.state == .accepted && outcome.error == nil)
        #expect(outcome.record.serverCaptureID == id && outcome.isKnown)
        let states = try bench.library.captures(ofMedia: upload.mediaHash).map(\.state)
        #expect(states == [.rejected, .accepted])
    }

    /// If no time may be disclosed, the submitted day is the day of the submission, not of an earlier attempt.
    @Test func anOldAttemptIsSentWithTheDayOfItsSubmission() async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture:status=503,times=1"])
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

    @Test func aRecordOfAnotherServerIsUnchanged() async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture:status=503,times=1"])
        var record = try await bench.session.capture(try bench.request()).record
        record.server = "http://127.0.0.1:1"
        try bench.library.keep(record)
        let error = await #expect(throws: CaptureError.self) { try await bench.session.retry(record.id) }
        #expect(error?.code == .captureUnknown)
        #expect(try await bench.submissions() == 1)
    }

    @Test func anotherDevicesDuplicateIsRejected() async throws {
        let bench = try await CaptureBench.registered()
        _ = try await bench.session.capture(try bench.request())
        let other = try CaptureBench(sandbox: bench.sandbox, address: bench.session.client.server.description)
        try await other.register()
        let outcome = try await other.session.capture(try other.request())
        #expect(outcome.record.state == .rejected && outcome.error?.code == .duplicate)
        let retried = try await other.session.retry(outcome.record.id)
        #expect(retried.isKnown && retried.error?.code == .duplicate)
        #expect(try await bench.submissions() == 2)
    }

    /// Simulates a server that was restored from a backup.
    @Test(arguments: [false, true])
    func aCaptureThatTheServerLostIsSubmittedAgain(_ isRetry: Bool) async throws {
        let bench = try await CaptureBench.registered()
        var lost = try await bench.session.capture(try bench.request()).record
        let empty = try await CaptureBench()
        let restored = try CaptureBench(
            sandbox: empty.sandbox,
            address: empty.session.client.server.description,
            machine: bench.machine
        )
        let device = try await restored.register()
        (lost.server, lost.deviceID, lost.counter) = (restored.session.server, device.deviceID, nil)
        try restored.library.keep(lost)
        let request = try bench.request()
        let outcome =
            try await isRetry
            ? restored.session.retry(lost.id, .resend) : restored.session.capture(request)
        #expect(outcome.record.id == lost.id && outcome.record.state == .accepted && outcome.error == nil)
        #expect(!outcome.isKnown && outcome.record.submissions == 1)
        #expect(outcome.record.serverCaptureID != lost.serverCaptureID)
        #expect(try await restored.remotes().map(\.id) == [outcome.record.serverCaptureID])
        #expect(try await restored.session.capture(request).isKnown)
        #expect(try await restored.submissions() == 1)
    }

    @Test func anAcceptedCaptureIsConfirmedByTheServer() async throws {
        let bench = try await CaptureBench.registered()
        let first = try await bench.session.capture(try bench.request()).record
        try await bench.sandbox?.addFaults("capture-read:status=503")
        let unconfirmed = [
            try await bench.session.capture(try bench.request()), try await bench.session.retry(first.id, .resend),
        ]
        for outcome in unconfirmed {
            #expect(outcome.record == first && outcome.isKnown && outcome.error?.httpStatus == 503)
        }
        try await bench.sandbox?.clearFaults()
        // The server has the capture of the replaced device, but does not show it.
        try await bench.registerAgain()
        for outcome in [try await bench.session.capture(try bench.request()), try await bench.session.retry(first.id)] {
            #expect(outcome.record == first && outcome.isKnown && outcome.error == nil)
        }
        #expect(try await bench.submissions() == 1)
    }

    @Test func theReferenceServerGetsOneExplicitResend() async throws {
        let bench = try await CaptureBench.atReference(["--fault", "capture:drop-response,times=1"])
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .unknownOutcome && outcome.record.submissions == 1)
        #expect(try await bench.session.retry(outcome.record.id).error?.code == .unknownOutcome)
        #expect(try await bench.submissions() == 1)
        // The capture is stored, so this can only result in a 500 (contract 1.3).
        let resent = try await bench.session.retry(outcome.record.id, .resend)
        #expect(resent.record.state == .unknownOutcome && resent.record.submissions == 2)
        #expect(resent.record.counter == 4)
        #expect(resent.record.earlierSubmissions == outcome.record.submission.map { [$0] })
        let again = try await bench.session.retry(outcome.record.id, .resend)
        #expect(again.error?.code == .unknownOutcome)
        #expect(try await bench.submissions() == 2)
    }

    /// A failed resend proves nothing about the first submission: no ordinary retry sends after that.
    @Test(arguments: ["capture:status=503,times=1", "signing", "key"])
    func aRejectedResendLeavesTheOutcomeUnknown(_ failure: String) async throws {
        let bench = try await CaptureBench.atReference(["--fault", "capture:drop-response,times=1"])
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .unknownOutcome)
        var device = try bench.session.device()
        let source = device.keySource
        switch failure {
        case "signing": device.keySource = .command(["/bin/false"])
        case "key": device.keySource = .file("nowhere.pem")
        default: try await bench.sandbox?.addFaults(failure)
        }
        try bench.library.keep(device)
        let resent = try await bench.session.retry(outcome.record.id, .resend)
        #expect(resent.record.state == .unknownOutcome && resent.record.submissions == 1 && resent.error != nil)
        #expect(resent.record.submission == outcome.record.submission)
        device.keySource = source
        try bench.library.keep(device)
        let submissions = try await bench.submissions()
        #expect(try await bench.session.retry(outcome.record.id).error?.code == .unknownOutcome)
        #expect(try await bench.submissions() == submissions)
        #expect(try await bench.session.retry(outcome.record.id, .resend).record.submissions == 2)
    }

    /// The query is also retried once with the server's clock.
    @Test func anUnknownOutcomeIsResolvedDespiteClockSkew() async throws {
        let bench = try await CaptureBench.registered(["--capture-clock=-900"])
        var record = try await bench.session.capture(try bench.request()).record
        let id = record.serverCaptureID
        (record.state, record.serverCaptureID) = (.unknownOutcome, nil)
        try bench.library.keep(record)
        let retried = try await bench.session.retry(record.id)
        #expect(retried.record.state == .accepted && retried.record.serverCaptureID == id && id != nil)
        #expect(retried.record.httpStatus == 200)
    }

    @Test func aRejectedCaptureIsNotSentAgain() async throws {
        let bench = try await CaptureBench.registered()
        try await bench.sandbox?.addFaults("capture:status=400,times=1")
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .rejected && outcome.error?.code == .badRequest)
        let retried = try await bench.session.retry(outcome.record.id)
        #expect(retried.isKnown && retried.error?.code == .badRequest)
        #expect(try await bench.submissions() == 1)
    }

    @Test func aCounterUsedByAnotherCopyOfTheKeyIsNotSkipped() async throws {
        let bench = try await CaptureBench.registered()
        // The copy, on a machine with a separate counter.
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
        // Three signing failures are allowed, regardless of the key's state.
        let refused = try await bench.session.retry(first.record.id)
        #expect(refused.record.signingFailures == 3 && refused.error?.code == .signingFailed)
        #expect(try await bench.submissions() == 0)
        #expect(try await bench.session.retry(first.record.id, .resend).record.state == .accepted)
    }

    @Test func anotherRegistrationSignsAgain() async throws {
        let bench = try await CaptureBench()
        var device = try await bench.register()
        device.keySource = .command(["/bin/false"])
        try bench.library.keep(device)
        let record = try await bench.session.capture(try bench.request()).record
        for _ in 1...2 { _ = try await bench.session.retry(record.id) }
        #expect(try bench.library.capture(record.id)?.signingFailures == 3)
        try await bench.registerAgain()
        #expect(try await bench.session.retry(record.id).record.state == .accepted)
    }

    /// The server shows a capture only to the device that sent it, and refuses it from any other device as a duplicate.
    @Test func anUnknownOutcomeOfAnotherRegistrationIsSentAgainOnlyOnRequest() async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture:status=502,times=1"])
        let record = try await bench.session.capture(try bench.request()).record
        #expect(record.state == .unknownOutcome)
        try await bench.registerAgain()
        let retried = try await bench.session.retry(record.id)
        #expect(retried.record.state == .unknownOutcome && retried.needsResend)
        #expect(retried.error?.code == .unknownOutcome && retried.record.body == record.body)
        #expect(try await bench.session.retry(record.id, .resend).record.state == .accepted)
    }

    /// The first submission is on the server, which shows it only to the replaced device.
    @Test func aRefusedResendKeepsTheEvidenceOfTheFirstSubmission() async throws {
        let bench = try await CaptureBench.registered()
        var record = try await bench.session.capture(try bench.request()).record
        (record.state, record.serverCaptureID, record.verificationURL) = (.unknownOutcome, nil, nil)
        try bench.library.keep(record)
        try await bench.registerAgain()
        // The response to the first resend is lost.
        try await bench.sandbox?.addFaults("capture:status=502,times=1")
        let unknown = try await bench.session.retry(record.id, .resend).record
        #expect(unknown.state == .unknownOutcome && unknown.submissions == 2)
        #expect(unknown.body != record.body && unknown.earlierSubmissions == record.submission.map { [$0] })
        #expect(try await bench.session.retry(record.id).needsResend)
        let refused = try await bench.session.retry(record.id, .resend)
        #expect(refused.record.state == .rejected && refused.error?.code == .duplicate)
        #expect(refused.record.submission == record.submission && refused.record.earlierSubmissions == nil)
        #expect(CaptureSession.disagreement(in: refused.record) == nil)
        #expect(try bench.library.capture(record.id) == refused.record)
        #expect(
            try await bench.session.verify(file: bench.photo(), isOffline: false).errors.map(\.code) == [
                .unknownOutcome
            ]
        )
    }

    /// The evidence is kept after any refusal, not only of a duplicate, and if the key cannot be used.
    @Test(arguments: ["capture:status=503,times=1", "capture:status=400,times=1", "capture:status=500,times=1", "key"])
    func aFailedResendKeepsTheEvidenceOfTheFirstSubmission(_ failure: String) async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture:status=502,times=1"])
        let record = try await bench.session.capture(try bench.request()).record
        #expect(record.state == .unknownOutcome && record.submission != nil)
        var device = try await bench.registerAgain()
        if failure == "key" {
            device.keySource = .file("nowhere.pem")
            try bench.library.keep(device)
        } else {
            try await bench.sandbox?.addFaults(failure)
        }
        let resent = try await bench.session.retry(record.id, .resend).record
        #expect(resent.state == (failure.contains("=400") ? .rejected : .unknownOutcome))
        #expect(resent.submission == record.submission && resent.earlierSubmissions == nil)
        #expect(resent.submissions == 1)
    }

    @Test func anAcceptedResendReplacesTheFirstSubmission() async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture:status=502,times=2"])
        let record = try await bench.session.capture(try bench.request()).record
        let device = try await bench.registerAgain()
        #expect(
            try await bench.session.retry(record.id, .resend).record.earlierSubmissions
                == record.submission.map { [$0] }
        )
        let accepted = try await bench.session.retry(record.id, .resend).record
        #expect(accepted.state == .accepted && accepted.deviceID == device.deviceID)
        #expect(accepted.earlierSubmissions == nil && CaptureSession.disagreement(in: accepted) == nil)
    }

    /// The server returns the ID, since it has an earlier submission of the same device.
    @Test func aDuplicateOfAnEarlierSubmissionRestoresThatOne() async throws {
        let bench = try await CaptureBench.registered()
        try await bench.sandbox?.addFaults("capture:drop-response,times=1", "capture-read:status=405")
        let record = try await bench.session.capture(try bench.request()).record
        #expect(record.state == .unknownOutcome)
        let accepted = try await bench.session.retry(record.id).record
        #expect(accepted.state == .accepted && accepted.submissions == 2 && accepted.httpStatus == 409)
        #expect(accepted.submission == record.submission && accepted.earlierSubmissions == nil)
        #expect(accepted.serverCaptureID == (try await bench.remotes().first?.id))
    }

    /// One session queries the program once, regardless of the number of captures.
    @Test func theKeyProgramOfTheVaultRunsOnce() async throws {
        let bench = try await CaptureBench.registered()
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
        let bench = try await CaptureBench.registered()
        let keys = bench.directory.path + "/capture-keys"
        try FileManager.default.moveItem(atPath: keys, toPath: keys + "-away")
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .pending && outcome.error?.code == .keyUnusable)
        // Retries are not limited, since nothing was signed.
        for _ in 1...3 {
            let retried = try await bench.session.retry(outcome.record.id)
            #expect(retried.error?.code == .keyUnusable && retried.record.signingFailures == 0)
        }
        try FileManager.default.moveItem(atPath: keys + "-away", toPath: keys)
        #expect(try await bench.session.retry(outcome.record.id).record.state == .accepted)
    }
}
