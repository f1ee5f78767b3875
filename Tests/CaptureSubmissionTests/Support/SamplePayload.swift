import Foundation
import MediaCrypto

@testable import CaptureSubmission

/// Payloads for tests.
enum SamplePayload {
    /// The hash of the contract's worked example.
    static let hash = "efa1f375d76194fa51a3556a97e641e61685f914d446979da50a551a4333ffd7"

    /// The contract's worked example (2.1), which can be changed.
    static func photo(_ change: (inout HashOnlyPayload) -> Void = { _ in }) throws -> HashOnlyPayload {
        guard let digest = SHA256Digest(hex: hash) else { throw Unusable() }
        let metadata = CaptureMetadata()
        var payload = HashOnlyPayload(
            mediaHash: digest,
            mediaType: .photo,
            depthAnalysis: DepthAnalysis(
                status: .completed,
                depthVariance: 1.5518607,
                depthLayers: 8,
                edgeCoherence: 0.8,
                minDepth: 0.5,
                maxDepth: 5,
                isLikelyRealScene: true
            ),
            metadata: metadata,
            flags: MetadataFlags(location: .none, timestamp: .none, deviceInfo: .none),
            capturedAt: "2025-12-01T10:00:00Z"
        )
        change(&payload)
        return payload
    }

    /// The worked example as a video.
    static func video(_ change: (inout HashOnlyPayload) -> Void = { _ in }) throws -> HashOnlyPayload {
        guard let chain = SHA256Digest(hex: String(repeating: "c", count: 64)) else { throw Unusable() }
        return try photo { payload in
            payload.mediaType = .video
            payload.video = VideoMembers(
                hashChain: .init(finalHash: chain, chainLength: 450, checkpointCount: 3),
                frameCount: 450,
                durationMilliseconds: 15_000,
                temporalAnalysis: TemporalDepthAnalysis(
                    meanVariance: 0.6,
                    varianceStability: 0.9,
                    temporalCoherence: 0.75,
                    isLikelyRealScene: true,
                    keyframeCount: 150
                )
            )
            change(&payload)
        }
    }

    /// A payload that discloses these facts about the place, the time and the device.
    static func disclosing(_ metadata: CaptureMetadata) throws -> HashOnlyPayload {
        try photo { payload in
            payload.metadata = metadata
            payload.flags = MetadataFlags(location: .precise, timestamp: .exact, deviceInfo: .full)
        }
    }

    struct Unusable: Error {}

    /// The payload in a body (contract 1.2), parsed by Foundation; nil if the body has values that a payload cannot
    /// represent.
    static func reading(_ body: String) -> HashOnlyPayload? {
        guard let top = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any],
            let depth = top["depth_analysis"] as? [String: Any], let flags = top["metadata_flags"] as? [String: Any],
            let metadata = top["metadata"] as? [String: Any],
            let hash = (top["media_hash"] as? String).flatMap({ SHA256Digest(hex: $0) }),
            let location = LocationLevel(rawValue: flags["location_level"] as? String ?? ""),
            let timestamp = TimestampLevel(rawValue: flags["timestamp_level"] as? String ?? ""),
            let device = DeviceInfoLevel(rawValue: flags["device_info_level"] as? String ?? "")
        else { return nil }
        let place = metadata["location"] as? [String: Any]
        let known = CaptureMetadata(
            location: place.map {
                .coordinates(latitude: $0["latitude"] as? Double ?? 0, longitude: $0["longitude"] as? Double ?? 0)
            },
            timestamp: metadata["timestamp"] as? String,
            deviceModel: metadata["device_model"] as? String
        )
        return try? (top["media_type"] as? String == "video" ? video() : photo()).with { payload in
            payload.mediaHash = hash
            payload.depthAnalysis = DepthAnalysis(
                status: .completed,
                depthVariance: depth["depth_variance"] as? Double ?? .nan,
                depthLayers: Int32(depth["depth_layers"] as? Int ?? -1),
                edgeCoherence: depth["edge_coherence"] as? Double ?? .nan,
                minDepth: depth["min_depth"] as? Double ?? .nan,
                maxDepth: depth["max_depth"] as? Double ?? .nan,
                isLikelyRealScene: depth["is_likely_real_scene"] as? Bool ?? false
            )
            payload.metadata = known
            payload.flags = MetadataFlags(location: location, timestamp: timestamp, deviceInfo: device)
            payload.capturedAt = top["captured_at"] as? String ?? ""
        }
    }
}

extension HashOnlyPayload {
    /// A changed copy.
    func with(_ change: (inout HashOnlyPayload) -> Void) -> HashOnlyPayload {
        var copy = self
        change(&copy)
        return copy
    }
}
