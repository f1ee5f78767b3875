import CaptureSubmission
import Foundation
import MediaCrypto
import MediaStore
import TestSupport
import Testing

@testable import HashCapture

/// Errors that are detected before anything is written.
@Suite struct CaptureInputTests {
    private static let chain = VideoMembers(
        hashChain: VideoMembers.HashChain(
            finalHash: SHA256Digest(hex: String(repeating: "01", count: 32)) ?? unreachable,
            chainLength: 30
        ),
        frameCount: 30,
        durationMilliseconds: 1000
    )
    private static var unreachable: SHA256Digest { preconditionFailure("64 digits") }

    private static let movie: [UInt8] = [0, 0, 0, 24] + Array("ftypisom".utf8) + [UInt8](repeating: 0, count: 100)

    @Test func aVideoRequiresItsMembersAndAPhotoHasNone() async throws {
        let bench = try CaptureBench(address: "http://127.0.0.1:9")
        var request = bench.request(try bench.write("a.mp4", Self.movie))
        #expect(await code(bench, request) == .videoMembersMissing)
        request.video = Self.chain
        #expect(await code(bench, request) == nil)
        request.video?.frameCount = 0
        #expect(await code(bench, request) == .videoMembersMissing)
        request = try bench.request()
        request.video = Self.chain
        #expect(await code(bench, request) == .unknownMediaType)
    }

    @Test func keyframesOfAVideoAreAnalyzedTogether() async throws {
        let bench = try CaptureBench(address: "http://127.0.0.1:9")
        let (map, layout) = (try bench.depthFile(), CaptureBench.depthLayout)
        var request = bench.request(
            try bench.write("a.mp4", Self.movie),
            depth: .keyframes(paths: [map, map], layout: layout)
        )
        request.video = Self.chain
        let preview = try await bench.session.preview(request)
        #expect(preview.payload.video?.temporalAnalysis?.keyframeCount == 2)
        #expect(preview.payload.depthAnalysis.status == .completed)
        #expect(preview.notices.contains(.depthFromKeyframes))
        request = try bench.request()
        request.depth = .keyframes(paths: [map], layout: layout)
        #expect(await code(bench, request) == .depthMapInvalid)
    }

    @Test func theTypeIsThatOfTheFile() async throws {
        let bench = try CaptureBench(address: "http://127.0.0.1:9")
        var request = try bench.request()
        request.mediaType = .video
        request.video = Self.chain
        #expect(await code(bench, request) == .unknownMediaType)
        request = bench.request(try bench.write("a.raw", Array("unheard of".utf8)))
        #expect(await code(bench, request) == .unknownMediaType)
        request.mediaType = .photo
        #expect(await code(bench, request) == nil)
    }

    @Test(arguments: [
        ("missing.jpg", OutcomeCode.fileNotFound), ("empty.jpg", .emptyFile), ("", .notRegularFile),
    ])
    func aFileThatCannotBeReadIsReported(_ name: String, _ expected: OutcomeCode) async throws {
        let bench = try CaptureBench(address: "http://127.0.0.1:9")
        _ = try bench.write("empty.jpg", [])
        #expect(await code(bench, bench.request(Array(bench.machine.file(name).utf8))) == expected)
    }

    @Test func nothingIsCapturedWithoutADevice() async throws {
        let bench = try CaptureBench(address: "http://127.0.0.1:9")
        let error = await #expect(throws: CaptureError.self) { try await bench.session.capture(try bench.request()) }
        #expect(error?.code == .notRegistered)
        #expect(!FileManager.default.fileExists(atPath: bench.directory.path + "/captures"))
    }

    @Test func placeOptionsAreExclusive() {
        let file = CaptureFacts(latitude: 52.5, longitude: 13.4, deviceModel: "Camera")
        #expect(CaptureFacts().completed(by: file) == file)
        // With a specified city, the file's coordinates must not be submitted.
        let given = CaptureFacts(city: "Paris", country: "FR").completed(by: file)
        #expect(given == CaptureFacts(city: "Paris", country: "FR", deviceModel: "Camera"))
        #expect(CaptureFacts(deviceModel: "Box").completed(by: file).deviceModel == "Box")
    }

    @Test func aTimeThatMustNotBeDisclosedIsTheDayOfTheSubmission() throws {
        var settings = PrivacySettings()
        settings.timestamp = .none
        let payload = HashOnlyPayload(
            mediaHash: try #require(SHA256Digest(hex: String(repeating: "01", count: 32))),
            mediaType: .photo,
            depthAnalysis: .unavailable,
            metadata: CaptureMetadata(),
            flags: MetadataFlags(location: .none, timestamp: .none, deviceInfo: .none),
            capturedAt: "2026-09-21T00:00:00Z"
        )
        // 2026-11-22T23:59:59Z
        let now = Date(timeIntervalSince1970: 1_795_391_999)
        #expect(payload.restamped(at: now).capturedAt == "2026-11-22T00:00:00Z")
        var exact = payload
        exact.flags.timestampLevel = .exact
        #expect(exact.restamped(at: now) == exact)
    }

    @Test func theStoredAnalysisCanBeReadBack() throws {
        let analysis = DepthAnalysis(
            status: .completed,
            depthVariance: 0.800000011920929,
            depthLayers: 4,
            edgeCoherence: 1e-6,
            minDepth: 5,
            maxDepth: 19.5,
            isLikelyRealScene: true
        )
        #expect(DepthAnalysis(json: analysis.json) == analysis)
        #expect(try JSONSerialization.jsonObject(with: Data(analysis.json.utf8)) is NSDictionary)
        #expect(DepthAnalysis(json: "{}") == nil)
    }

    private func code(_ bench: CaptureBench, _ request: CaptureRequest) async -> OutcomeCode? {
        do {
            _ = try await bench.session.preview(request)
            return nil
        } catch {
            return error.code
        }
    }
}
