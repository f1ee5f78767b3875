import CaptureSubmission
import Foundation
import MediaCrypto
import TestSupport
import Testing

/// The signed and sent bytes of hash-only captures, verified by `rfc8785`, `cbor2`, `openssl`, and a second encoder of
/// contract 2.1.
@Suite("Hash-only conformance")
struct HashOnlyConformanceTests {
    private struct Verdict: Decodable {
        let cases: Int
        let openssl: Int
        let failures: [String]
    }

    private struct Signer: CaptureSigner {
        let key: SigningKey
        var publicKey: VerifyingKey { key.publicKey }

        func sign(_ message: [UInt8]) async throws(CaptureError) -> [UInt8] {
            do { return try key.sign(message) } catch { throw CaptureError(.signingFailed, detail: error.detail) }
        }
    }

    /// The number of payloads for the profile that does not accept places; the other one gets all.
    private static let count = 1_000

    @Test("1,000 random payloads for each profile are signed and sent as the contract specifies")
    func payloads() async throws {
        let signer = Signer(key: try SigningKey.generate())
        var payloads = RandomPayloads(seed: 5)
        var lines: [String] = []
        var referenceCount = 0
        while referenceCount < Self.count {
            let payload = try payloads.next()
            var line = ForeignPayload(payload).members
            let counter = UInt32(lines.count) &* 4_000_037 &+ 1
            // One in twenty is signed, which is enough for the CBOR.
            let isSigned = lines.count.isMultiple(of: 20)
            line["counter"] = isSigned ? counter : nil
            for profile in CaptureProfile.allCases where profile == .mediactl1 || !payload.hasPlace {
                line[profile.rawValue] = try await Self.made(
                    of: payload,
                    for: profile,
                    isSigned ? counter : nil,
                    signer
                )
                if profile == .reference { referenceCount += 1 }
            }
            lines.append(String(decoding: try JSONSerialization.data(withJSONObject: line), as: UTF8.self))
        }

        let directory = try TemporaryDirectory()
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: directory.file("cases")))
        try Data(signer.publicKey.pem()).write(to: URL(filePath: directory.file("key.pem")))
        let result = try await ForeignProgram.run(
            ForeignProgram.python,
            [ForeignProgram.scripts + "/hash_only.py", directory.file("cases"), directory.file("key.pem")]
        )
        try #require(result.errors.isEmpty, "\(result.errors)")
        let verdict = try JSONDecoder().decode(Verdict.self, from: Data(result.output.utf8))
        #expect(verdict.failures.isEmpty, "\(verdict.failures.joined(separator: "\n"))")
        #expect(verdict.cases == lines.count)
        #expect(verdict.openssl == 4)
    }

    private static func made(
        of payload: HashOnlyPayload,
        for profile: CaptureProfile,
        _ counter: UInt32?,
        _ signer: Signer
    ) async throws -> [String: String] {
        var assertion = Assertion.placeholder
        if let counter {
            let digest = try payload.clientDataHash(for: profile)
            assertion = try await Assertion.sign(digest, rpID: "mediactl-1", counter: counter, with: signer).base64
        }
        let body = try payload.body(for: profile, assertion: assertion)
        return [
            "signed": Data(try payload.signedBytes(for: profile)).base64EncodedString(),
            "body": Data(body.bytes).base64EncodedString(),
        ]
    }
}

extension HashOnlyPayload {
    fileprivate var hasPlace: Bool {
        if case .place? = metadata.location { true } else { false }
    }
}

/// A payload's values for another program, with floating-point numbers as their bits.
private struct ForeignPayload {
    let members: [String: Any]

    init(_ payload: HashOnlyPayload) {
        let depth = payload.depthAnalysis
        var members: [String: Any] = [
            "media_hash": payload.mediaHash.hex, "media_type": payload.mediaType.rawValue,
            "captured_at": payload.capturedAt,
        ]
        members["depth_analysis"] = [
            "depth_variance": Self.bits(depth.depthVariance), "depth_layers": depth.depthLayers,
            "edge_coherence": Self.bits(depth.edgeCoherence), "min_depth": Self.bits(depth.minDepth),
            "max_depth": Self.bits(depth.maxDepth), "is_likely_real_scene": depth.isLikelyRealScene,
            "status": depth.status.rawValue,
        ]
        members["metadata"] = Self.metadata(payload.metadata)
        members["metadata_flags"] = [
            "location_included": payload.metadata.location != nil,
            "location_level": payload.flags.locationLevel.rawValue,
            "timestamp_included": payload.metadata.timestamp != nil,
            "timestamp_level": payload.flags.timestampLevel.rawValue,
            "device_info_included": payload.metadata.deviceModel != nil,
            "device_info_level": payload.flags.deviceInfoLevel.rawValue,
        ]
        members["video"] = payload.video.map(Self.video)
        self.members = members
    }

    private static func bits(_ number: Double) -> String {
        let digits = String(number.bitPattern, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func metadata(_ metadata: CaptureMetadata) -> [String: Any] {
        var members: [String: Any] = [:]
        switch metadata.location {
        case .coordinates(let latitude, let longitude)?:
            members["latitude"] = bits(latitude)
            members["longitude"] = bits(longitude)
        case .place(let city, let country)?:
            members["city"] = city
            members["country"] = country
        case nil: break
        }
        members["timestamp"] = metadata.timestamp
        members["device_model"] = metadata.deviceModel
        return members
    }

    private static func video(_ video: VideoMembers) -> [String: Any] {
        var members: [String: Any] = [
            "frame_count": video.frameCount, "duration_ms": video.durationMilliseconds,
        ]
        members["hash_chain"] = [
            "final_hash": video.hashChain.finalHash.hex, "chain_length": video.hashChain.chainLength,
            "checkpoint_count": video.hashChain.checkpointCount,
        ]
        members["temporal"] = video.temporalAnalysis.map { temporal in
            [
                "mean_variance": bits(temporal.meanVariance), "variance_stability": bits(temporal.varianceStability),
                "temporal_coherence": bits(temporal.temporalCoherence),
                "is_likely_real_scene": temporal.isLikelyRealScene, "keyframe_count": temporal.keyframeCount,
            ] as [String: Any]
        }
        return members
    }
}
