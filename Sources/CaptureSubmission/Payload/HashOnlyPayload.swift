package import MediaCore
public import MediaCrypto

/// All data that a hash-only capture discloses to a server, except the assertion (hash-only contract 1.2). None of the
/// members can contain media.
public struct HashOnlyPayload: Sendable, Equatable {
    /// SHA-256 of the media file's bytes.
    public var mediaHash: SHA256Digest
    public var mediaType: CaptureMediaType
    /// Required for videos as well (M2).
    public var depthAnalysis: DepthAnalysis
    /// Other disclosed metadata.
    public var metadata: CaptureMetadata
    /// The user's disclosure choices.
    public var flags: MetadataFlags
    /// RFC 3339 with `Z`. Always public on the server (trap 15).
    public var capturedAt: String
    public var video: VideoMembers?

    public init(
        mediaHash: SHA256Digest,
        mediaType: CaptureMediaType,
        depthAnalysis: DepthAnalysis,
        metadata: CaptureMetadata,
        flags: MetadataFlags,
        capturedAt: String,
        video: VideoMembers? = nil
    ) {
        self.mediaHash = mediaHash
        self.mediaType = mediaType
        self.depthAnalysis = depthAnalysis
        self.metadata = metadata
        self.flags = flags
        self.capturedAt = capturedAt
        self.video = video
    }
}

/// The members of a payload for a video (contract 1.2).
public struct VideoMembers: Sendable, Equatable {
    /// The camera's chain over its frames; it cannot be computed from an encoded file (contract section 5).
    public struct HashChain: Sendable, Equatable {
        /// The last digest.
        public var finalHash: SHA256Digest
        /// Number of frames in the chain.
        public var chainLength: Int32
        /// At most 3.
        public var checkpointCount: Int32

        public init(finalHash: SHA256Digest, chainLength: Int32, checkpointCount: Int32 = 0) {
            self.finalHash = finalHash
            self.chainLength = chainLength
            self.checkpointCount = checkpointCount
        }
    }

    /// The chain as computed by the camera.
    public var hashChain: HashChain
    /// More than 0.
    public var frameCount: Int32
    /// More than 0.
    public var durationMilliseconds: Int32
    /// The combined depth analysis of the keyframes.
    public var temporalAnalysis: TemporalDepthAnalysis?

    public init(
        hashChain: HashChain,
        frameCount: Int32,
        durationMilliseconds: Int32,
        temporalAnalysis: TemporalDepthAnalysis? = nil
    ) {
        self.hashChain = hashChain
        self.frameCount = frameCount
        self.durationMilliseconds = durationMilliseconds
        self.temporalAnalysis = temporalAnalysis
    }
}

extension HashOnlyPayload {
    static let captureMode = "hash_only"

    /// The members that the server verifies: all except the assertion, or the seven members of contract 2.1. Throws
    /// `.internalError` for values that the profile does not support.
    func signedMembers(for profile: CaptureProfile) throws(CaptureError) -> JSONObject {
        try check(for: profile)
        let members: JSONObject = [
            "capture_mode": .string(Self.captureMode),
            "captured_at": .string(capturedAt),
            "depth_analysis": try depthAnalysis.value(for: profile),
            "media_hash": .string(mediaHash.hex),
            "media_type": .string(mediaType.rawValue),
            "metadata": try metadata.value(for: profile),
            "metadata_flags": flags.value(for: metadata),
        ]
        return switch profile {
        case .mediactl1: members + (try videoMembers())
        case .reference: members
        }
    }

    /// The body's object. For the reference server, the members of a video are required but not signed (M9).
    func bodyValue(for profile: CaptureProfile, assertion: String) throws(CaptureError) -> JSONValue {
        let signed = try signedMembers(for: profile)
        let more = profile == .reference ? try videoMembers() : [:]
        return .object(signed + more + ["assertion": .string(assertion)])
    }

    private func videoMembers() throws(CaptureError) -> JSONObject {
        guard let video else { return [:] }
        var members: JSONObject = [
            "hash_chain": video.hashChain.value,
            "frame_count": .integer(Int64(video.frameCount)),
            "duration_ms": .integer(Int64(video.durationMilliseconds)),
        ]
        if let analysis = video.temporalAnalysis {
            members["temporal_depth_analysis"] = try analysis.value()
        }
        return members
    }

    /// Values that servers refuse must not be signed (contract 1.2).
    private func check(for profile: CaptureProfile) throws(CaptureError) {
        switch (mediaType, video) {
        case (.photo, nil): break
        case (.photo, _?): throw Self.impossible("a photo must not have video members")
        case (.video, nil): throw CaptureError(.videoMembersMissing)
        case (.video, let video?):
            guard video.frameCount > 0, video.durationMilliseconds > 0 else {
                throw Self.impossible("a video has at least one frame and one millisecond")
            }
        }
        guard depthAnalysis.depthLayers >= 0, (0...1).contains(depthAnalysis.edgeCoherence) else {
            throw Self.impossible("the depth analysis is out of range")
        }
        if profile == .reference, case .place? = metadata.location {
            throw Self.impossible("this server does not accept a city or country (M5)")
        }
    }

    private static func impossible(_ detail: String) -> CaptureError {
        CaptureError(.internalError, detail: detail)
    }
}

extension DepthAnalysis {
    fileprivate func value(for profile: CaptureProfile) throws(CaptureError) -> JSONValue {
        let members: JSONObject = [
            "depth_variance": try .narrow(depthVariance, "depth_variance"),
            "depth_layers": .integer(Int64(depthLayers)),
            "edge_coherence": try .narrow(edgeCoherence, "edge_coherence"),
            "min_depth": try .narrow(minDepth, "min_depth"),
            "max_depth": try .narrow(maxDepth, "max_depth"),
            "is_likely_real_scene": .bool(isLikelyRealScene),
            "algorithm_version": .string(Self.algorithmVersion),
        ]
        // The reference server would drop `status`, unsigned (trap 20).
        return switch profile {
        case .mediactl1: .object(members + ["status": .string(status.rawValue)])
        case .reference: .object(members)
        }
    }
}

extension TemporalDepthAnalysis {
    fileprivate func value() throws(CaptureError) -> JSONValue {
        .object([
            "mean_variance": try .narrow(meanVariance, "mean_variance"),
            "variance_stability": try .narrow(varianceStability, "variance_stability"),
            "temporal_coherence": try .narrow(temporalCoherence, "temporal_coherence"),
            "is_likely_real_scene": .bool(isLikelyRealScene),
            "keyframe_count": .integer(Int64(keyframeCount)),
            "algorithm_version": .string(DepthAnalysis.algorithmVersion),
        ])
    }
}

extension CaptureMetadata {
    fileprivate func value(for profile: CaptureProfile) throws(CaptureError) -> JSONValue {
        var members: JSONObject = [:]
        if let location { members["location"] = try location.value(for: profile) }
        members["timestamp"] = timestamp.map(JSONValue.string)
        members["device_model"] = deviceModel.map(JSONValue.string)
        return .object(members)
    }
}

extension CaptureMetadata.Location {
    fileprivate func value(for profile: CaptureProfile) throws(CaptureError) -> JSONValue {
        switch self {
        case .coordinates(let latitude, let longitude):
            let exact = { (degrees: Double) in
                profile == .reference ? DecimalDigits.rounded(degrees) : degrees
            }
            return .object([
                "latitude": try .wide(exact(latitude), "latitude"),
                "longitude": try .wide(exact(longitude), "longitude"),
            ])
        case .place(let city, let country):
            var members: JSONObject = [:]
            members["city"] = city.map(JSONValue.string)
            members["country"] = .string(country)
            return .object(members)
        }
    }
}

extension MetadataFlags {
    /// A value is "included" only if it is in the payload.
    fileprivate func value(for metadata: CaptureMetadata) -> JSONValue {
        .object([
            "location_included": .bool(metadata.location != nil),
            "location_level": .string(locationLevel.rawValue),
            "timestamp_included": .bool(metadata.timestamp != nil),
            "timestamp_level": .string(timestampLevel.rawValue),
            "device_info_included": .bool(metadata.deviceModel != nil),
            "device_info_level": .string(deviceInfoLevel.rawValue),
        ])
    }
}

extension VideoMembers.HashChain {
    /// The version of the hash chain rule, as sent.
    static let version = "1.0"

    fileprivate var value: JSONValue {
        .object([
            "final_hash": .string(finalHash.hex),
            "chain_length": .integer(Int64(chainLength)),
            "version": .string(Self.version),
            "checkpoint_count": .integer(Int64(checkpointCount)),
        ])
    }
}

extension HashOnlyPayload {
    /// Reads a body that was built on this machine. A body that differs from the rebuilt one, even by a space, is
    /// refused (`.recordUnusable`). Depths have the precision with which they were sent; the assertion is in base64.
    package static func reading(
        _ body: HashOnlyBody,
        profile: CaptureProfile
    ) throws(CaptureError) -> (payload: HashOnlyPayload, assertion: String) {
        guard let members = JSONValue.object(in: body.bytes[...]),
            let assertion = members["assertion"]?.text,
            let payload = HashOnlyPayload(reading: members),
            (try? payload.body(for: profile, assertion: assertion)) == body
        else { throw CaptureError(.recordUnusable, detail: "the stored body was not built by mediactl") }
        return (payload, assertion)
    }

    /// Reads the known members; rebuilding the body then detects any unknown ones.
    private init?(reading members: JSONObject) {
        guard let mediaHash = members["media_hash"]?.text.flatMap({ SHA256Digest(hex: $0) }),
            let mediaType = members["media_type"]?.text.flatMap(CaptureMediaType.init),
            let depthAnalysis = members["depth_analysis"]?.members.flatMap(DepthAnalysis.init(reading:)),
            let metadata = members["metadata"]?.members.map(CaptureMetadata.init(reading:)),
            let flags = members["metadata_flags"]?.members.flatMap(MetadataFlags.init(reading:)),
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
    /// Reads the analysis of one depth map from a body; nil if it is invalid.
    package init?(reading members: JSONObject) {
        guard let depthVariance = members["depth_variance"]?.number, let depthLayers = members["depth_layers"]?.int32,
            let edgeCoherence = members["edge_coherence"]?.number,
            let minDepth = members["min_depth"]?.number, let maxDepth = members["max_depth"]?.number,
            let isLikelyRealScene = members["is_likely_real_scene"]?.flag
        else { return nil }
        // The reference server has no member for the status (M4), but a measured depth is never 0.
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
    fileprivate init(reading members: JSONObject) {
        self.init(
            location: members["location"]?.members.flatMap(Location.init(reading:)),
            timestamp: members["timestamp"]?.text,
            deviceModel: members["device_model"]?.text
        )
    }
}

extension CaptureMetadata.Location {
    fileprivate init?(reading members: JSONObject) {
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
    fileprivate init?(reading members: JSONObject) {
        guard let location = members["location_level"]?.text.flatMap(LocationLevel.init),
            let timestamp = members["timestamp_level"]?.text.flatMap(TimestampLevel.init),
            let deviceInfo = members["device_info_level"]?.text.flatMap(DeviceInfoLevel.init)
        else { return nil }
        self.init(location: location, timestamp: timestamp, deviceInfo: deviceInfo)
    }
}

extension VideoMembers {
    fileprivate init?(reading members: JSONObject) {
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
    fileprivate init?(reading members: JSONObject) {
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
