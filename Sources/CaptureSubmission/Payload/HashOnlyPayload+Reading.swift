package import MediaCore
internal import MediaCrypto

extension HashOnlyPayload {
    /// Reads a body that was built here: one that differs from what would be built now, be it by a blank, is not.
    ///
    /// - Parameters:
    ///   - body: As kept.
    ///   - profile: The server's that it was built for.
    /// - Returns: The payload, its depths as on the wire, and the assertion, as base64.
    /// - Throws: `CaptureError` `.recordUnusable` for anything else.
    package static func reading(
        _ body: HashOnlyBody,
        profile: CaptureProfile
    ) throws(CaptureError) -> (payload: HashOnlyPayload, assertion: String) {
        guard let members = JSONValue.object(in: body.bytes[...]),
            let assertion = members["assertion"]?.text,
            let payload = HashOnlyPayload(reading: members),
            (try? payload.body(for: profile, assertion: assertion)) == body
        else { throw CaptureError(.recordUnusable, detail: "the kept body is none that was built here") }
        return (payload, assertion)
    }

    /// Takes what is there; whether that was all, building the body again tells.
    private init?(reading members: [String: JSONValue]) {
        guard let mediaHash = members["media_hash"]?.text.flatMap({ SHA256Digest(hex: $0) }),
            let mediaType = members["media_type"]?.text.flatMap(CaptureMediaType.init),
            let depthAnalysis = members["depth_analysis"]?.members.flatMap(DepthAnalysis.init(reading:)),
            let metadata = members["metadata"]?.members.map(CaptureMetadata.init(reading:)),
            let flags = members["metadata_flags"]?.members.flatMap({ MetadataFlags(reading: $0, of: metadata) }),
            let capturedAt = members["captured_at"]?.text
        else { return nil }
        self.init(
            mediaHash: mediaHash,
            mediaType: mediaType,
            depthAnalysis: depthAnalysis,
            metadata: metadata,
            flags: flags,
            capturedAt: capturedAt,
            video: VideoMembers(reading: members)
        )
    }
}

extension DepthAnalysis {
    /// Reads what a body says of one depth map; nil for anything else.
    package init?(reading members: [String: JSONValue]) {
        guard let depthVariance = members["depth_variance"]?.number, let depthLayers = members["depth_layers"]?.int32,
            let edgeCoherence = members["edge_coherence"]?.number,
            let minDepth = members["min_depth"]?.number, let maxDepth = members["max_depth"]?.number,
            let isLikelyRealScene = members["is_likely_real_scene"]?.flag
        else { return nil }
        // The reference server has no member for it (M4), but a measured depth is never 0.
        let status = members["status"]?.text.flatMap(Status.init)
        self.init(
            status: status ?? (maxDepth == 0 ? .unavailable : .completed),
            depthVariance: depthVariance,
            depthLayers: depthLayers,
            edgeCoherence: edgeCoherence,
            minDepth: minDepth,
            maxDepth: maxDepth,
            isLikelyRealScene: isLikelyRealScene
        )
    }
}

extension CaptureMetadata {
    fileprivate init(reading members: [String: JSONValue]) {
        self.init(
            location: members["location"]?.members.flatMap(Location.init(reading:)),
            timestamp: members["timestamp"]?.text,
            deviceModel: members["device_model"]?.text
        )
    }
}

extension CaptureMetadata.Location {
    fileprivate init?(reading members: [String: JSONValue]) {
        if let latitude = members["latitude"]?.number, let longitude = members["longitude"]?.number {
            self = .coordinates(latitude: latitude, longitude: longitude)
        } else if let country = members["country"]?.text {
            self = .place(city: members["city"]?.text, country: country)
        } else {
            return nil
        }
    }
}

extension MetadataFlags {
    fileprivate init?(reading members: [String: JSONValue], of metadata: CaptureMetadata) {
        guard let location = members["location_level"]?.text.flatMap(LocationLevel.init),
            let timestamp = members["timestamp_level"]?.text.flatMap(TimestampLevel.init),
            let deviceInfo = members["device_info_level"]?.text.flatMap(DeviceInfoLevel.init)
        else { return nil }
        self.init(of: metadata, location: location, timestamp: timestamp, deviceInfo: deviceInfo)
    }
}

extension VideoMembers {
    fileprivate init?(reading members: [String: JSONValue]) {
        guard let chain = members["hash_chain"]?.members,
            let finalHash = chain["final_hash"]?.text.flatMap({ SHA256Digest(hex: $0) }),
            let chainLength = chain["chain_length"]?.int32, let checkpointCount = chain["checkpoint_count"]?.int32,
            let frameCount = members["frame_count"]?.int32, let duration = members["duration_ms"]?.int32
        else { return nil }
        self.init(
            hashChain: HashChain(finalHash: finalHash, chainLength: chainLength, checkpointCount: checkpointCount),
            frameCount: frameCount,
            durationMilliseconds: duration,
            temporalAnalysis: members["temporal_depth_analysis"]?.members.flatMap(TemporalDepthAnalysis.init(reading:))
        )
    }
}

extension TemporalDepthAnalysis {
    fileprivate init?(reading members: [String: JSONValue]) {
        guard let meanVariance = members["mean_variance"]?.number,
            let varianceStability = members["variance_stability"]?.number,
            let temporalCoherence = members["temporal_coherence"]?.number,
            let isLikelyRealScene = members["is_likely_real_scene"]?.flag,
            let keyframeCount = members["keyframe_count"]?.int32
        else { return nil }
        self.init(
            meanVariance: meanVariance,
            varianceStability: varianceStability,
            temporalCoherence: temporalCoherence,
            isLikelyRealScene: isLikelyRealScene,
            keyframeCount: keyframeCount
        )
    }
}
