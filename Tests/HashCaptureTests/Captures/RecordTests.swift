import Foundation
import MediaCrypto
import MediaStore
import MediaTransport
import TestSupport
import Testing

@testable import CaptureSubmission
@testable import HashCapture

/// Records that another process left or changed.
@Suite struct RecordTests {
    /// The failpoints of a capture; the others belong to a registration.
    private static let places = CaptureFailpoint.allCases.filter { ![.keyWritten, .deviceRegistered].contains($0) }

    @Test(arguments: places)
    func aCaptureOfAKilledProcessIsFinishedByTheNextOne(_ point: CaptureFailpoint) async throws {
        let bench = try await CaptureBench.registered()
        let path = try bench.photo()
        let place = [
            point.rawValue, bench.session.client.server.description, bench.directory.path,
            bench.machine.file("photo.jpg"),
        ]
        await #expect(processExitsWith: .signal(SIGKILL)) { [place = place as [String]] in
            setenv("MEDIACTL_KILL_AT", place[0], 1)
            let directory = try DataDirectory.open(place[2])
            let session = try CaptureBench.session(place[1], .mediactl1, directory, LibraryStore(in: directory))
            let facts = CaptureFacts(capturedAt: Date(timeIntervalSince1970: 1_790_000_000), deviceModel: "Box")
            _ = try await session.capture(
                CaptureRequest(.file(Array(place[3].utf8)), depth: .declined, facts: facts, settings: PrivacySettings())
            )
        }
        let wasThere = try await bench.remotes().count
        #expect(wasThere == ([.responseReceived, .outcomeRecorded].contains(point) ? 1 : 0))
        try await bench.session.adopt()
        let left = try bench.library.captures()
        // Before its record is stored, a capture has not been reported.
        #expect(left.count == (point == .mediaInDraft ? 0 : 1))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: bench.directory.path + "/captures")
                .filter { $0.hasPrefix(".draft") }.isEmpty
        )
        let record: CaptureRecord
        if let first = left.first {
            #expect(first.state == Self.left(by: point))
            record = try await bench.session.retry(first.id).record
        } else {
            record = try await bench.session.capture(bench.request(path)).record
        }
        #expect(record.state == .accepted)
        #expect(try await bench.remotes().map(\.id) == [record.serverCaptureID])
        #expect(try await bench.session.verify(file: path, isOffline: false).isGood)
        // The capture is not submitted twice.
        #expect(try await bench.submissions() == 1)
    }

    private static func left(by point: CaptureFailpoint) -> CaptureRecord.State {
        switch point {
        case .queued, .requestSigned: .queued
        case .submitted, .responseReceived: .unknownOutcome
        case .outcomeRecorded: .accepted
        default: .pending
        }
    }

    @Test func aSubmissionOfARunningProcessIsUnchanged() async throws {
        let bench = try await CaptureBench()
        let device = try await bench.register()
        var record = try await bench.session.capture(try bench.request()).record
        record.state = .submitted
        try bench.library.keep(record)
        let counter = try await bench.session.lock(device.deviceID)
        try await bench.session.adopt()
        #expect(try bench.library.capture(record.id)?.state == .submitted)
        counter.release()
        try await bench.session.adopt()
        #expect(try bench.library.capture(record.id)?.state == .unknownOutcome)
    }

    @Test func aRecordWithoutAModeIsLocalOnlyUntilTheUserDecides() async throws {
        let bench = try await CaptureBench.registered()
        let id = UUID().uuidString.lowercased()
        try bench.library.keep(
            CaptureRecord(
                id: id,
                server: bench.session.client.server.description,
                profile: "mediactl-1",
                mode: nil,
                mediaHash: String(repeating: "cd", count: 32),
                mediaType: "photo",
                createdAt: Date()
            )
        )
        for choice in [CaptureSession.RetryChoice.ordinary, .resend] {
            let error = await #expect(throws: CaptureError.self) { try await bench.session.retry(id, choice) }
            #expect(error?.code == .localOnly)
        }
        #expect(try await bench.submissions() == 0)
        let outcome = try await bench.session.retry(id, .adoptAsHashOnly)
        #expect(outcome.record.state == .accepted && outcome.record.mode == .hashOnly)
        let body = try #require(outcome.record.body.flatMap(HashOnlyBody.init(bytes:)))
        let payload = try HashOnlyPayload.reading(body, profile: .mediactl1).payload
        // The disclosure settings are unknown, so nothing is sent.
        #expect(payload.metadata == CaptureMetadata() && payload.flags.timestampLevel == .none)
        #expect(payload.depthAnalysis == .unavailable && payload.capturedAt.hasSuffix("T00:00:00Z"))
    }

    /// The meaning of such a record is unknown, so it does not prevent a submission.
    @Test func aRecordWithoutAModeIsNotEvidence() async throws {
        let bench = try await CaptureBench.registered()
        let path = try bench.photo()
        let digest = try await bench.session.preview(bench.request(path)).payload.mediaHash
        var old = CaptureRecord(
            id: UUID().uuidString.lowercased(),
            server: bench.session.client.server.description,
            profile: "mediactl-1",
            mode: nil,
            mediaHash: digest.hex,
            mediaType: "photo",
            createdAt: Date()
        )
        old.state = .unknownOutcome
        try bench.library.keep(old)
        let outcome = try await bench.session.capture(bench.request(path))
        #expect(outcome.record.state == .accepted && outcome.record.id != old.id && !outcome.isKnown)
    }

    /// The server's data about a capture, and whether it describes a hash-only capture of this media, stored without
    /// the media.
    @Test(
        arguments: [
            ("hash_only", "aa", false, true), ("hash_only", "bb", false, false), ("hash_only", nil, false, false),
            ("hash_only", "aa", true, false), ("full", "aa", false, false),
        ] as [(String, String?, Bool, Bool)]
    )
    func theServersDataIsComparedWithTheRecord(
        _ mode: String,
        _ hash: String?,
        _ isStored: Bool,
        _ isGood: Bool
    ) throws {
        let hashes = hash.map { String(repeating: $0, count: 32) }
        let remote = RemoteCapture(captureID: "", captureMode: mode, mediaHash: hashes, isMediaStored: isStored)
        let digest = try #require(SHA256Digest(hex: String(repeating: "aa", count: 32)))
        let record = CaptureRecord(
            id: "",
            server: "",
            profile: "mediactl-1",
            mode: .hashOnly,
            mediaHash: digest.hex,
            mediaType: "photo",
            createdAt: Date()
        )
        #expect((CaptureSession.compare(remote, record, digest) == .passed) == isGood)
    }

    @Test func aTamperedPayloadIsNotSentAndNotVerified() async throws {
        let bench = try await CaptureBench.registered()
        let path = try bench.photo()
        let record = try await bench.session.capture(bench.request(path)).record
        var tampered = record
        let text = String(decoding: try #require(record.body), as: UTF8.self)
        tampered.body = Array(text.replacing("Box", with: "Fox").utf8)
        try bench.library.keep(tampered)
        let verification = try await bench.session.verify(file: path, isOffline: true)
        #expect(!verification.isGood)
        #expect(verification.failed == [.signature])

        tampered.unsignedBody = Array(
            String(decoding: try #require(record.unsignedBody), as: UTF8.self)
                .replacing(record.mediaHash, with: String(repeating: "0", count: 64)).utf8
        )
        (tampered.state, tampered.submissions) = (.queued, 0)
        try bench.library.keep(tampered)
        let outcome = try await bench.session.retry(record.id)
        #expect(outcome.error?.code == .recordUnusable && outcome.record.state == .queued)
        #expect(try await bench.submissions() == 1)
    }

    /// The change, and the checks that detect it.
    @Test(arguments: [
        ("counter", CaptureVerification.Check.counter), ("hash", .bodyHash), ("blob", .vault), ("server", .server),
    ])
    func eachCheckDetectsItsKindOfChange(_ change: String, _ check: CaptureVerification.Check) async throws {
        let bench = try await CaptureBench.registered()
        let path = try bench.photo()
        var record = try await bench.session.capture(bench.request(path)).record
        var file = path
        switch change {
        case "counter": record.counter = 9
        case "hash":
            // The record of another file, modified to contain the hash of this one.
            file = try bench.photo("other.jpg", byteCount: 500)
            let other = try await bench.session.preview(bench.request(file)).payload.mediaHash
            record.mediaHash = other.hex
        case "blob":
            let blob = bench.directory.path + "/captures/\(record.id)/media"
            let handle = try #require(FileHandle(forUpdatingAtPath: blob))
            try handle.seek(toOffset: 1000)
            try handle.write(contentsOf: Data([0x5A, 0x5A]))
            try handle.close()
        default: record.serverCaptureID = UUID().uuidString.lowercased()
        }
        try bench.library.keep(record)
        let verification = try await bench.session.verify(file: file, isOffline: false)
        #expect(verification.failed.contains(check) && !verification.isGood)
        #expect(verification.failed.count == (change == "hash" ? 3 : 1))
    }

    /// The server shows a capture only to its own device: a 403 is a failure for that device, but not for the one that
    /// replaced it.
    @Test func theServersCheckIsSkippedAfterAReplacedRegistration() async throws {
        let bench = try await CaptureBench.registered()
        let path = try bench.photo()
        #expect(try await bench.session.capture(bench.request(path)).record.state == .accepted)
        var plan = CaptureBench.plan
        plan.replacesEarlier = true
        try await bench.register(plan)
        let requests = try await bench.received().count
        let verification = try await bench.session.verify(file: path, isOffline: false)
        #expect(
            verification.findings.last?.finding == .skipped("this machine is now registered as another device")
        )
        #expect(verification.isGood && verification.errors.isEmpty)
        #expect(try await bench.received().count == requests)

        var record = try #require(try bench.library.captures().first)
        record.deviceID = try bench.session.device().deviceID
        try bench.library.keep(record)
        let own = try await bench.session.verify(file: path, isOffline: false)
        #expect(own.failed == [.server])
    }

    @Test func aFileWithoutARecordIsUnknown() async throws {
        let bench = try CaptureBench(address: "http://127.0.0.1:9")
        let error = await #expect(throws: CaptureError.self) {
            try await bench.session.verify(file: try bench.photo(), isOffline: true)
        }
        #expect(error?.code == .captureUnknown)
        let empty = #expect(throws: CaptureError.self) { try bench.session.record("") }
        #expect(empty?.code == .captureUnknown)
    }

    @Test func aQueuedCaptureIsResumedByTheSameCommand() async throws {
        let bench = try await CaptureBench.registered()
        try await bench.sandbox?.addFaults("capture:status=503,times=1")
        let first = try await bench.session.capture(try bench.request())
        #expect(first.record.state == .queued)
        // A payload with different settings is a different capture: the new request must not be sent with the old
        // values.
        var quieter = try bench.request()
        quieter.settings.deviceInfo = .none
        try await bench.sandbox?.addFaults("capture:status=503,times=1")
        #expect(try await bench.session.capture(quieter).record.id != first.record.id)
        let second = try await bench.session.capture(try bench.request())
        #expect(second.record.id == first.record.id && second.record.state == .accepted)
        // The other capture has the same media, and is stored.
        let records = try bench.library.captures()
        #expect(records.count == 2)
        let other = try #require(records.first { $0.id != first.record.id })
        #expect(try await bench.session.retry(other.id).record.serverCaptureID == second.record.serverCaptureID)
    }
}

extension CaptureVerification {
    /// The checks that failed.
    fileprivate var failed: [Check] {
        findings.compactMap { check, finding in
            if case .failed = finding { check } else { nil }
        }
    }
}
