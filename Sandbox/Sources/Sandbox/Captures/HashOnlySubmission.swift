/// The body of a hash-only request as the server parses it (contract 1.2).
struct HashOnlySubmission {
    let captureMode: String
    let mediaHash: String
    let mediaType: String
    let capturedAt: String
    let assertion: String
    /// A claim about one depth map; its numbers are binary32.
    let depth: JSONValue
    let isLikelyRealScene: Bool
    /// `completed` or `unavailable`; nil on the reference server.
    let depthStatus: String?
    private let layers: Int32
    private let coherence: Float
    let metadata: JSONValue
    let coordinates: (latitude: Double, longitude: Double)?
    /// On `mediactl-1`, a place that is submitted instead of coordinates.
    private(set) var placeName: String?
    let flags: JSONValue
    private let hasHashChain: Bool
    private let frameCount: Int32?
    private let durationMilliseconds: Int32?

    init(_ value: JSONValue, _ profile: CaptureSettings.Profile) throws(CaptureRefusal) {
        let body = try TypedFields(value, "the body")
        let given = (try body.fields("metadata"), try body.fields("metadata_flags"))
        captureMode = try body.string("capture_mode")
        mediaHash = try body.string("media_hash")
        mediaType = try body.string("media_type")
        let analysis = try body.fields("depth_analysis")
        depth = try Self.depth(analysis)
        layers = try analysis.int32("depth_layers")
        coherence = try analysis.float("edge_coherence")
        isLikelyRealScene = try analysis.bool("is_likely_real_scene")
        depthStatus = profile == .mediactl1 ? try analysis.string("status") : nil
        var metadata: JSONValue = [:]
        if let place = try given.0.optionalFields("location") {
            var location: JSONValue = [:]
            for key in ["altitude", "accuracy"] { location[key] = try place.optionalDouble(key).map(JSONValue.decimal) }
            if profile == .mediactl1, try !place.has("latitude"), try !place.has("longitude") {
                coordinates = nil
                let names = [try place.optionalString("city"), try place.string("country")]
                placeName = names.compactMap { $0 }.joined(separator: ", ")
            } else {
                let (latitude, longitude) = (try place.double("latitude"), try place.double("longitude"))
                coordinates = (latitude, longitude)
                let position: JSONValue = ["latitude": .decimal(latitude), "longitude": .decimal(longitude)]
                metadata["location"] = .object((position.members ?? []) + (location.members ?? []))
            }
        } else {
            coordinates = nil
        }
        for key in ["timestamp", "device_model"] {
            metadata[key] = try given.0.optionalString(key).map(JSONValue.string)
        }
        self.metadata = metadata
        var flags: JSONValue = [:]
        for name in ["location", "timestamp", "device_info"] {
            flags[name + "_included"] = .bool(try given.1.bool(name + "_included"))
            flags[name + "_level"] = .string(try given.1.string(name + "_level"))
        }
        self.flags = flags
        capturedAt = try body.string("captured_at")
        assertion = try body.string("assertion")
        // The chain must have the correct types, but its values are ignored.
        let chain = try body.optionalFields("hash_chain")
        hasHashChain = chain != nil
        _ = (try chain?.string("final_hash"), try chain?.int32("chain_length"))
        _ = (try chain?.optionalString("version"), try chain?.optionalInt32("checkpoint_count"))
        frameCount = try body.optionalInt32("frame_count")
        durationMilliseconds = try body.optionalInt32("duration_ms")
        guard let temporal = try body.optionalFields("temporal_depth_analysis") else { return }
        for key in ["mean_variance", "variance_stability", "temporal_coherence"] { _ = try temporal.float(key) }
        _ = (try temporal.bool("is_likely_real_scene"), try temporal.int32("keyframe_count"))
        _ = try temporal.string("algorithm_version")
        for element in try temporal.elements("keyframe_analyses") {
            _ = try Self.depth(try TypedFields(element, "keyframe_analyses"))
        }
    }

    private static func depth(_ fields: TypedFields) throws(CaptureRefusal) -> JSONValue {
        [
            "depth_variance": .decimal(Double(try fields.float("depth_variance"))),
            "depth_layers": .int(Int(try fields.int32("depth_layers"))),
            "edge_coherence": .decimal(Double(try fields.float("edge_coherence"))),
            "min_depth": .decimal(Double(try fields.float("min_depth"))),
            "max_depth": .decimal(Double(try fields.float("max_depth"))),
            "is_likely_real_scene": .bool(try fields.bool("is_likely_real_scene")),
            "algorithm_version": .string(try fields.string("algorithm_version")),
        ]
    }

    /// Whether the flags declare that a value is included.
    func includes(_ name: String) -> Bool { flags[name + "_included"] == true }

    /// The rules of contract 1.2.
    func validate() throws(CaptureRefusal) {
        let rules = [
            (captureMode == "hash_only", "capture_mode must be \"hash_only\""),
            (mediaHash.wholeMatch(of: /[0-9a-fA-F]{64}/) != nil, "media_hash must be 64 hexadecimal digits"),
            (["photo", "video"].contains(mediaType), "media_type must be photo or video"),
            (layers >= 0, "depth_layers must not be negative"),
            ((0...1).contains(coherence), "edge_coherence must be from 0 to 1"),
            (depth["algorithm_version"] != "", "algorithm_version must not be empty"),
            (
                depthStatus.map(["completed", "unavailable"].contains) ?? true,
                "depth_analysis.status must be completed or unavailable"
            ),
            (Timestamp(capturedAt) != nil, "captured_at must be an RFC 3339 date-time"),
            (!assertion.allSatisfy(\.isWhitespace), "assertion must not be empty"),
            (base64Bytes(assertion) != nil, "assertion must be base64"),
            (mediaType == "photo" || hasHashChain, "hash_chain is required for a video"),
            (mediaType == "photo" || frameCount ?? 0 > 0, "frame_count is required for a video, above 0"),
            (mediaType == "photo" || durationMilliseconds ?? 0 > 0, "duration_ms is required for a video, above 0"),
        ]
        if let broken = rules.first(where: { !$0.0 }) { throw .invalid(broken.1) }
    }

    /// The reference server encodes its structures again (contract 2.1): unknown members are not signed.
    func signedBytes(_ received: JSONValue, _ profile: CaptureSettings.Profile) throws(UnreadableJSON) -> [UInt8] {
        guard profile == .reference else {
            let signed = (received.members ?? []).filter { $0.key != "assertion" }
            return Array(try JSONValue.object(signed).canonical().text.utf8)
        }
        let structures: JSONValue = [
            "capture_mode": .string(captureMode), "captured_at": .string(capturedAt), "depth_analysis": depth,
            "media_hash": .string(mediaHash), "media_type": .string(mediaType), "metadata": metadata,
            "metadata_flags": flags,
        ]
        return Array(structures.text.utf8)
    }
}
