import CaptureSubmission
import Foundation
import MediaCrypto
import MediaStore
import MediaTransport
import Synchronization
import TestSupport
import Testing

@testable import HashCapture

/// Captures against the sandbox, as a user submits them.
@Suite struct CaptureTests {
    @Test func aCaptureIsVerifiedAndItsMediaStaysLocal() async throws {
        let bench = try await CaptureBench()
        let device = try await bench.register()
        #expect(device.level == "software")
        let path = try bench.photo()
        let outcome = try await bench.session.capture(bench.request(path, depth: bench.depthMap()))
        let record = outcome.record
        #expect(outcome.error == nil && !outcome.isKnown)
        #expect(record.state == .accepted && record.mode == .hashOnly && record.isObserved && record.hasDepth)
        #expect((record.submissions, record.signingFailures) == (1, 0))
        // The request has used counter 1, and the payload has used counter 2 (M12).
        #expect(record.counter == 2)
        #expect(try await bench.lastCounter() == 2)
        #expect(record.keyLevel == "software" && record.deviceID == device.deviceID)
        #expect(record.settings == PrivacySettings().json)
        #expect(record.analysis.flatMap(DepthAnalysis.init(json:))?.status == .completed)

        let remote = try #require(try await bench.remotes().first)
        #expect(
            remote.id == record.serverCaptureID && remote.mediaHash == record.mediaHash && remote.mode == "hash_only"
        )
        #expect(Array(remote.body) == record.body)
        // No part of the media is in any sent request.
        let received = try await bench.received()
        #expect(received.count == 1)
        for body in received { #expect(body.body.firstRange(of: CaptureBench.marker) == nil) }
        #expect(received.allSatisfy { $0.body.count < 10_240 })

        let copy = bench.machine.file("copy.jpg")
        _ = try await bench.session.export(record.id, to: Array(copy.utf8), depthTo: nil)
        #expect(
            FileManager.default.contents(atPath: copy)
                == FileManager.default.contents(atPath: bench.machine.file("photo.jpg"))
        )
        for isOffline in [true, false] {
            let verification = try await bench.session.verify(file: path, isOffline: isOffline)
            #expect(verification.findings.map(\.check) == CaptureVerification.Check.allCases.filter { $0 != .members })
            for (check, finding) in verification.findings {
                #expect(finding == (check == .server && isOffline ? .skipped("offline") : .passed), "\(check)")
            }
        }
    }

    @Test func noticesAreReportedBeforeSending() async throws {
        let bench = try await CaptureBench.registered()
        var request = try bench.request()
        request.facts.capturedAt = nil
        let library = bench.library
        let reported = Mutex<[CaptureNotice]>([])
        let outcome = try await bench.session.capture(
            request,
            beforeSending: { notices in
                let records = try? library.captures()
                #expect(records?.map(\.submissions) == [0])
                reported.withLock { $0 += notices }
            }
        )
        #expect(outcome.record.submissions == 1)
        #expect(reported.withLock { $0 }.contains(.captureTimeUnknown))
        // Nothing is sent again.
        _ = try await bench.session.capture(request, beforeSending: { _ in Issue.record("reported again") })
    }

    @Test func theSameMediaIsNotSubmittedTwice() async throws {
        let bench = try await CaptureBench.registered()
        let first = try await bench.session.capture(try bench.request())
        let second = try await bench.session.capture(try bench.request())
        #expect(second.isKnown && second.record.id == first.record.id)
        #expect(try await bench.submissions() == 1)
        #expect(try bench.library.captures().count == 1)
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: bench.directory.path + "/captures")
                .filter { $0.contains("draft") }.isEmpty
        )
    }

    @Test func aPreviewIsIdenticalToTheRequestAndChangesNothing() async throws {
        let bench = try await CaptureBench()
        let request = try bench.request()
        let before = try FileManager.default.subpathsOfDirectory(atPath: bench.machine.path)
        let preview = try await bench.session.preview(request)
        #expect(try FileManager.default.subpathsOfDirectory(atPath: bench.machine.path) == before)
        #expect(try await bench.sandbox?.requests().isEmpty == true)
        #expect(preview.notices.contains(.capturedAtIsPublic("2026-09-21T14:13:20Z")))
        #expect(!preview.notices.contains(.captureTimeUnknown))

        try await bench.register()
        let sent = try #require(try await bench.session.capture(request).record.body)
        let text = String(decoding: sent, as: UTF8.self)
        let assertion = try HashOnlyPayload.reading(#require(HashOnlyBody(bytes: sent)), profile: .mediactl1).assertion
        #expect(
            text.replacing(assertion, with: Assertion.placeholder)
                == String(decoding: preview.body.bytes, as: UTF8.self)
        )
        #expect(assertion.utf8.count == Assertion.placeholder.utf8.count)
    }

    @Test func aDigestIsRecordedAsNotObserved() async throws {
        let bench = try await CaptureBench.registered()
        let digest = try #require(SHA256Digest(hex: String(repeating: "ab", count: 32)))
        let request = CaptureRequest(.digest(digest), mediaType: .photo, depth: .declined, settings: PrivacySettings())
        let outcome = try await bench.session.capture(request)
        #expect(outcome.record.state == .accepted && !outcome.record.isObserved && outcome.record.mediaBytes == nil)
        #expect([.notObserved, .captureTimeUnknown].allSatisfy { outcome.notices.contains($0) })
        let match = try await bench.session.find(.digest(digest))
        let verification = try await bench.session.verify(match, isOffline: true)
        #expect(verification.isGood)
        #expect(verification.findings[4].finding == .skipped("the media was not observed here"))
        await #expect(throws: CaptureError.self) {
            try await bench.session.export(outcome.record.id, to: Array(bench.machine.file("x").utf8), depthTo: nil)
        }
    }

    @Test func tasksAndSessionsShareOneCounterInAscendingOrder() async throws {
        let bench = try await CaptureBench.registered()
        let requests = try (0..<6).map { try bench.request("\($0).jpg") }
        let outcomes = try await withThrowingTaskGroup(of: CaptureOutcome.self) { group in
            for (number, request) in requests.enumerated() {
                // Another session with the same data, as in another process.
                let session =
                    try number.isMultiple(of: 2)
                    ? bench.session
                    : CaptureBench.session(
                        bench.sandbox?.baseURL ?? "",
                        .mediactl1,
                        bench.directory,
                        LibraryStore(in: bench.directory)
                    )
                group.addTask { try await session.capture(request) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        // The server rejects counters in any other order.
        #expect(outcomes.allSatisfy { $0.record.state == .accepted })
        #expect(Set(outcomes.compactMap(\.record.counter)) == [2, 4, 6, 8, 10, 12])
        #expect(try await bench.submissions() == 6)
    }

    @Test(arguments: [600, -600])
    func aClockSkewCausesOneRetry(_ seconds: Int64) async throws {
        let bench = try await CaptureBench.registered(["--capture-clock=\(seconds)"])
        let outcome = try await bench.session.capture(try bench.request())
        #expect(outcome.record.state == .accepted && outcome.record.submissions == 1 && outcome.record.counter == 4)
        #expect(try await bench.submissions() == 2)
        let differences = outcome.notices.compactMap { notice in
            if case .clockDiffers(let seconds) = notice { seconds } else { nil }
        }
        #expect(differences.count == 1 && abs((differences.first ?? 0) - seconds) <= 2)
        #expect(
            try await bench.session.verify(file: Array(bench.machine.file("photo.jpg").utf8), isOffline: false).isGood
        )
    }

    // Hash-only contract, new rule 4.
    @Test func aPhotoRequiresAChoiceAboutDepth() async throws {
        let bench = try await CaptureBench.registered()
        let digest = try #require(SHA256Digest(hex: String(repeating: "ab", count: 32)))
        let settings = PrivacySettings()
        for request in [
            bench.request(try bench.photo(), depth: .unspecified),
            CaptureRequest(.digest(digest), mediaType: .photo, settings: settings),
        ] {
            #expect(request.needsDepthChoice(at: .mediactl1))
            let error = await #expect(throws: CaptureError.self) { try await bench.session.capture(request) }
            #expect(error?.code == .depthRequired)
            #expect(try await bench.session.preview(request).notices.contains(.noDepth))
        }
        #expect(try await bench.submissions() == 0)
        #expect(try bench.library.captures().isEmpty)

        let chain = VideoMembers.HashChain(finalHash: digest, chainLength: 2)
        let video = VideoMembers(hashChain: chain, frameCount: 2, durationMilliseconds: 80)
        let clip = CaptureRequest(.digest(digest), mediaType: .video, video: video, settings: settings)
        #expect(!clip.needsDepthChoice(at: .mediactl1) && clip.needsDepthChoice(at: .reference))
        #expect(try await bench.session.capture(clip).record.state == .accepted)
    }

    @Test func differencesFromAnEarlierSubmissionAreReported() async throws {
        let bench = try await CaptureBench.registered()
        let first = try bench.request()
        _ = try await bench.session.capture(first)
        #expect(try await bench.session.capture(first).notices.isEmpty)

        var second = bench.request(first.subject.path ?? [], depth: try bench.depthMap())
        second.facts.deviceModel = "Other"
        second.facts.capturedAt = nil
        second.settings.location = .none
        let outcome = try await bench.session.capture(second)
        #expect(outcome.isKnown && outcome.record.state == .accepted)
        #expect(
            outcome.notices == [
                .optionsNotSent([.depth, .deviceModel, .privacyLevels]), .disclosedEarlier([.time]),
            ]
        )
        #expect(try await bench.submissions() == 1)
    }

    @Test func anUnknownTimeIsNotADifference() async throws {
        let bench = try await CaptureBench.registered()
        var request = try bench.request()
        request.facts.capturedAt = nil
        _ = try await bench.session.capture(request)
        #expect(try await bench.session.capture(request).notices.isEmpty)
    }

    @Test("a depth map of a flat scene is reported; a map of any other scene, or no map, is not")
    func flatScene() async throws {
        let bench = try await CaptureBench()
        let photo = try bench.photo()
        func map(_ name: String, _ sample: (Int) -> Float) throws -> CaptureRequest.Depth {
            let bytes = (0..<192).flatMap { number in
                withUnsafeBytes(of: sample(number).bitPattern.littleEndian) { Array($0) }
            }
            return .map(path: try bench.write(name, bytes), layout: CaptureBench.depthLayout)
        }
        func preview(_ depth: CaptureRequest.Depth) async throws -> CapturePreview {
            try await bench.session.preview(bench.request(photo, depth: depth))
        }
        #expect(try await preview(try map("flat.bin") { _ in 2 }).notices.contains(.sceneNotReal))
        let scene = try await preview(try map("slope.bin") { 1 + Float($0 % 16) / 2 + Float($0 / 16) / 10 })
        #expect(scene.payload.depthAnalysis.isLikelyRealScene && !scene.notices.contains(.sceneNotReal))
        #expect(try await !preview(.declined).notices.contains(.sceneNotReal))
    }

    @Test func theReferenceServerRequiresAnExplicitDepthChoice() async throws {
        let bench = try await CaptureBench.atReference()
        var request = try bench.request()
        request.depth = .unspecified
        let error = await #expect(throws: CaptureError.self) { try await bench.session.capture(request) }
        #expect(error?.code == .depthRequired)
        #expect(try bench.library.captures().isEmpty)
        let outcome = try await bench.session.capture(bench.request(try bench.photo(), depth: bench.depthMap()))
        #expect(outcome.record.state == .accepted && outcome.record.keyLevel == "enrolled_elsewhere")
        #expect(outcome.notices.contains(.labeledByServer))
        #expect(try await bench.session.preview(try bench.request()).notices.contains(.recordedAsSuspicious))
        #expect(try await bench.session.verify(file: request.subject.path ?? [], isOffline: false).isGood)
    }
}
