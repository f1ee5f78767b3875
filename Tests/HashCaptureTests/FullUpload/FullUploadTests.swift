import CaptureSubmission
import Foundation
import MediaStore
import TestSupport
import Testing

@testable import HashCapture

/// The explicitly requested full upload (hash-only contract 7).
@Suite struct FullUploadTests {
    @Test func aPhotoIsUploadedWithItsDepthMap() async throws {
        let bench = try await CaptureBench.registered()
        let path = try bench.photo()
        let outcome = try await bench.session.sendMedia(bench.request(path, depth: bench.depthMap()))
        #expect(outcome.error == nil && outcome.record.state == .accepted && outcome.record.mode == .full)
        let body = try #require(try await bench.received().first?.body)
        let photo = try #require(FileManager.default.contents(atPath: bench.machine.file("photo.jpg")))
        #expect(body.firstRange(of: Array(photo)) != nil)
        let remote = try #require(try await bench.remotes().first)
        #expect(remote.mode == "full" && remote.mediaHash == outcome.record.mediaHash)
        // The server accepted signature and depth map.
        let evidence = String(decoding: try await bench.sandbox?.captures("records") ?? Data(), as: UTF8.self)
        #expect(!evidence.contains("\"fail\"") || evidence.contains("is_likely_real_scene\":false"))
        #expect(evidence.contains("\"pass\""))
        #expect(try await bench.session.verify(file: path, isOffline: false).isGood)
    }

    @Test func privacyModeRefusesAFullUpload() async throws {
        let bench = try await CaptureBench.registered()
        var request = bench.request(try bench.photo(), depth: try bench.depthMap())
        request.settings.isPrivacyModeEnabled = true
        #expect(await code(bench, request) == .privacyModeOn)
        #expect(try await bench.received().isEmpty)
        #expect(try bench.library.captures().isEmpty)
    }

    @Test func unsupportedFilesAreRefusedBeforeTheUpload() async throws {
        let bench = try await CaptureBench.registered()
        #expect(await code(bench, bench.request(try bench.photo())) == .depthRequired)
        let png = try bench.write("a.png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0])
        #expect(await code(bench, bench.request(png, depth: try bench.depthMap())) == .unknownMediaType)
        let wide = try bench.write("wide.bin", [UInt8](repeating: 0, count: 1001 * 3 * 4))
        let layout = DepthMapFile.Layout(width: 1001, height: 3)
        let depth = CaptureRequest.Depth.map(path: wide, layout: layout)
        #expect(await code(bench, bench.request(try bench.photo(), depth: depth)) == .depthMapInvalid)
        let large = try bench.photo("large.jpg", byteCount: 10 << 20)
        #expect(await code(bench, bench.request(large, depth: try bench.depthMap())) == .payloadTooLarge)
        #expect(try await bench.received().isEmpty)
    }

    /// The framework's limit of 2 MiB is not in the server's response. A proxy's page is not about that limit.
    @Test(arguments: [[], ["--fault", "capture-full:status=413"]])
    func theSizeLimitOfTheFrameworkIsExplained(arguments: [String]) async throws {
        let bench = try await CaptureBench.registered(arguments)
        let photo = try bench.photo("large.jpg", byteCount: (2 << 20) + 10)
        let outcome = try await bench.session.sendMedia(bench.request(photo, depth: bench.depthMap()))
        let isOfServer = arguments.isEmpty
        #expect(outcome.record.state == (isOfServer ? .rejected : .queued))
        #expect(outcome.error?.code == .payloadTooLarge && outcome.error?.detail.contains("2 MiB") == isOfServer)
    }

    @Test func aRetryNeverSendsTheMedia() async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture-full:status=503,times=1"])
        let request = bench.request(try bench.photo(), depth: try bench.depthMap())
        let outcome = try await bench.session.sendMedia(request)
        #expect(outcome.record.state == .queued)
        let uploads = try await bench.received().count
        for choice in [CaptureSession.RetryChoice.ordinary, .resend, .adoptAsHashOnly] {
            let retried = try await bench.session.retry(outcome.record.id, choice)
            #expect(retried.record.state == .queued && retried.error?.code == .localOnly)
        }
        #expect(try await bench.received().count == uploads)
        let sent = try await bench.session.sendMedia(request)
        #expect(sent.record.state == .accepted)
        // The earlier attempt is finished as well.
        #expect(try bench.library.capture(outcome.record.id)?.state == .rejected)
        #expect(try await bench.session.retry(outcome.record.id).record == sent.record)
    }

    /// A hash-only capture does not finish an upload of the media.
    @Test func anUnsentUploadIsNotReportedAsAcceptedBecauseOfItsHash() async throws {
        let bench = try await CaptureBench.registered(["--fault", "capture-full:status=503,times=1"])
        let request = bench.request(try bench.photo(), depth: try bench.depthMap())
        let upload = try await bench.session.sendMedia(request).record
        #expect(try await bench.session.capture(request).record.state == .accepted)
        for _ in 1...2 {
            let outcome = try await bench.session.retry(upload.id)
            #expect(outcome.record.id == upload.id && outcome.record.state == .rejected)
            #expect(outcome.error?.code == .duplicate && outcome.error?.detail.contains("only its hash") == true)
        }
    }

    /// A hash-only capture does not mean that the media is on the server.
    @Test func aKnownHashIsNotReportedAsUploadedMedia() async throws {
        let bench = try await CaptureBench.registered()
        var record = try await bench.session.capture(try bench.request()).record
        (record.mode, record.state, record.serverCaptureID) = (.full, .unknownOutcome, nil)
        try bench.library.keep(record)
        let outcome = try await bench.session.retry(record.id)
        #expect(outcome.record.state == .rejected && outcome.error?.code == .duplicate)
    }

    /// "Already on the server" would be a false statement about media that the server does not have.
    @Test func mediaOfAHashOnlyCaptureAreNotReportedAsAccepted() async throws {
        let bench = try await CaptureBench.registered()
        let request = bench.request(try bench.photo(), depth: try bench.depthMap())
        let first = try await bench.session.capture(request)
        #expect(first.record.state == .accepted && first.record.mode == .hashOnly)
        let error = await #expect(throws: CaptureError.self) { try await bench.session.sendMedia(request) }
        #expect(error?.code == .duplicate && error?.value == first.record.id)
    }

    /// The server is queried by hash, although it returns none for a full capture (contract 6.2).
    @Test(
        arguments: [
            ("capture-full:drop-response,times=1", CaptureRecord.State.accepted, nil),
            ("capture-full:reset,after=body,times=1", .queued, .transport),
            ("capture-full:status=502,times=1", .queued, .serverError),
        ] as [(String, CaptureRecord.State, OutcomeCode?)]
    )
    func aLostResponseIsResolvedByAQueryForTheHash(
        _ fault: String,
        _ state: CaptureRecord.State,
        _ code: OutcomeCode?
    ) async throws {
        let bench = try await CaptureBench.registered(["--fault", fault])
        let request = bench.request(try bench.photo(), depth: try bench.depthMap())
        let outcome = try await bench.session.sendMedia(request)
        #expect(outcome.record.state == state && outcome.error?.code == code)
        #expect(try await bench.session.sendMedia(request).record.state == .accepted)
        #expect(try await bench.remotes().count == 1)
    }

    /// The file is last checked before the first byte is sent.
    @Test func aFileThatHasChangedIsNotSent() async throws {
        let bench = try await CaptureBench()
        let device = try await bench.register()
        let path = try bench.photo()
        let request = bench.request(path, depth: try bench.depthMap())
        let counter = try await bench.session.lock(device.deviceID)
        async let sending = bench.session.sendMedia(request)
        while try bench.library.captures().isEmpty { await Task.yield() }
        // The number of bytes is unchanged.
        let bytes = try #require(FileManager.default.contents(atPath: bench.machine.file("photo.jpg")))
        _ = try bench.write("photo.jpg", bytes.dropLast() + [0])
        counter.release()
        let outcome = try await sending
        #expect(outcome.record.state == .queued && outcome.error?.code == .sourceChanged)
        #expect(try await bench.received().isEmpty)
    }

    @Test func theLocalFileNameIsNotSent() async throws {
        let bench = try await CaptureBench.registered()
        let photo = try bench.write("family.jpg", [0xFF, 0xD8, 0xFF, 0xE0] + CaptureBench.marker)
        let request = bench.request(photo, depth: try bench.depthMap())
        #expect(try await bench.session.sendMedia(request).record.state == .accepted)
        let body = try #require(try await bench.received().first?.body)
        #expect(body.firstRange(of: Array("\"photo_hash\"".utf8)) != nil)
        #expect(body.firstRange(of: Array("name=\"photo\"; filename=\"photo.jpg\"".utf8)) != nil)
        #expect(body.firstRange(of: Array("family".utf8)) == nil)
    }

    private func code(_ bench: CaptureBench, _ request: CaptureRequest) async -> OutcomeCode? {
        do {
            return try await bench.session.sendMedia(request).error?.code
        } catch {
            return error.code
        }
    }
}

@Suite struct GzipTests {
    /// Verified with another program.
    @Test(arguments: [0, 1, 1000, 200_000])
    func gunzipRestoresTheBytes(_ byteCount: Int) async throws {
        let directory = try TemporaryDirectory()
        let bytes = (0..<byteCount).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 3) }
        try Data(Gzip.compress(bytes)).write(to: URL(fileURLWithPath: directory.file("a.gz")))
        let result = try await ChildProcess("/bin/sh", ["-c", "gunzip -k \(directory.file("a.gz"))"]).finish()
        #expect(result.status == 0)
        #expect(FileManager.default.contents(atPath: directory.file("a")) == Data(bytes))
    }
}
