/// The body of a hash-only request as the server's structures hold it (contract 1.2).
struct HashOnlySubmission {
    /// A claim about one depth map; the numbers are binary32.
    struct Depth {
        var variance: Float
        var layers: Int32
        var coherence: Float
        var minimum: Float
        var maximum: Float
        var isLikelyRealScene: Bool
        var version: String
        /// `completed` or `unavailable`; the reference server has no such member.
        var status: String?
    }

    struct Location {
        /// Nil on `mediactl-1` if a place is submitted instead.
        var coordinates: (latitude: Double, longitude: Double)?
        var altitude: Double?
        var accuracy: Double?
        var city: String?
        var country: String?
    }

    /// One of the three things that may be submitted.
    struct Flag {
        var isIncluded: Bool
        var level: String
    }

    var captureMode: String
    var mediaHash: String
    var mediaType: String
    var depth: Depth
    var location: Location?
    var timestamp: String?
    var deviceModel: String?
    var locationFlag: Flag
    var timestampFlag: Flag
    var deviceInfoFlag: Flag
    var capturedAt: String
    var assertion: String
    var hasHashChain: Bool
    var frameCount: Int32?
    var durationMilliseconds: Int32?
}

extension HashOnlySubmission {
    init(_ value: ReceivedJSON, _ profile: CaptureSettings.Profile) throws(CaptureRefusal) {
        let body = try TypedFields(value, "the body")
        let metadata = try body.fields("metadata")
        let flags = try body.fields("metadata_flags")
        captureMode = try body.string("capture_mode")
        mediaHash = try body.string("media_hash")
        mediaType = try body.string("media_type")
        depth = try Depth(try body.fields("depth_analysis"), profile)
        location = try metadata.optionalFields("location").map { fields throws(CaptureRefusal) in
            try Location(fields, profile)
        }
        timestamp = try metadata.optionalString("timestamp")
        deviceModel = try metadata.optionalString("device_model")
        locationFlag = try Flag(flags, "location")
        timestampFlag = try Flag(flags, "timestamp")
        deviceInfoFlag = try Flag(flags, "device_info")
        capturedAt = try body.string("captured_at")
        assertion = try body.string("assertion")
        hasHashChain = try body.optionalFields("hash_chain").map(Self.checkHashChain) != nil
        frameCount = try body.optionalInt32("frame_count")
        durationMilliseconds = try body.optionalInt32("duration_ms")
        if let temporal = try body.optionalFields("temporal_depth_analysis") { try Self.checkTemporal(temporal) }
    }

    /// It must parse; nothing in it is looked at.
    private static func checkHashChain(_ fields: TypedFields) throws(CaptureRefusal) {
        _ = try fields.string("final_hash")
        _ = try fields.int32("chain_length")
        _ = try fields.optionalString("version")
        _ = try fields.optionalInt32("checkpoint_count")
    }

    /// As above.
    private static func checkTemporal(_ fields: TypedFields) throws(CaptureRefusal) {
        for key in ["mean_variance", "variance_stability", "temporal_coherence"] { _ = try fields.float(key) }
        _ = try fields.bool("is_likely_real_scene")
        _ = try fields.int32("keyframe_count")
        _ = try fields.string("algorithm_version")
        for analysis in try fields.elements("keyframe_analyses") {
            _ = try Depth(try TypedFields(analysis, "keyframe_analyses"), .reference)
        }
    }
}

extension HashOnlySubmission.Depth {
    fileprivate init(_ fields: TypedFields, _ profile: CaptureSettings.Profile) throws(CaptureRefusal) {
        variance = try fields.float("depth_variance")
        layers = try fields.int32("depth_layers")
        coherence = try fields.float("edge_coherence")
        minimum = try fields.float("min_depth")
        maximum = try fields.float("max_depth")
        isLikelyRealScene = try fields.bool("is_likely_real_scene")
        version = try fields.string("algorithm_version")
        status = profile == .mediactl1 ? try fields.string("status") : nil
    }
}

extension HashOnlySubmission.Location {
    fileprivate init(_ fields: TypedFields, _ profile: CaptureSettings.Profile) throws(CaptureRefusal) {
        altitude = try fields.optionalDouble("altitude")
        accuracy = try fields.optionalDouble("accuracy")
        if profile == .mediactl1, try !fields.has("latitude"), try !fields.has("longitude") {
            country = try fields.string("country")
            city = try fields.optionalString("city")
        } else {
            coordinates = (try fields.double("latitude"), try fields.double("longitude"))
        }
    }
}

extension HashOnlySubmission.Flag {
    fileprivate init(_ fields: TypedFields, _ name: String) throws(CaptureRefusal) {
        isIncluded = try fields.bool(name + "_included")
        level = try fields.string(name + "_level")
    }
}

extension HashOnlySubmission {
    /// The field rules of contract 1.2, the first that is broken.
    func validate() throws(CaptureRefusal) {
        guard captureMode == "hash_only" else { throw .invalid("capture_mode must be \"hash_only\"") }
        guard mediaHash.wholeMatch(of: /[0-9a-fA-F]{64}/) != nil else {
            throw .invalid("media_hash must be 64 hexadecimal digits")
        }
        guard ["photo", "video"].contains(mediaType) else { throw .invalid("media_type must be photo or video") }
        guard depth.layers >= 0 else { throw .invalid("depth_layers must not be negative") }
        guard (0...1).contains(depth.coherence) else { throw .invalid("edge_coherence must be from 0 to 1") }
        guard !depth.version.isEmpty else { throw .invalid("algorithm_version must not be empty") }
        guard depth.status.map(["completed", "unavailable"].contains) ?? true else {
            throw .invalid("depth_analysis.status must be completed or unavailable")
        }
        guard CaptureTime(capturedAt) != nil else { throw .invalid("captured_at must be an RFC 3339 date-time") }
        guard !assertion.allSatisfy(\.isWhitespace) else { throw .invalid("assertion must not be empty") }
        guard CaptureAssertion.base64(assertion) != nil else { throw .invalid("assertion must be base64") }
        if mediaType == "video" { try validateVideo() }
    }

    private func validateVideo() throws(CaptureRefusal) {
        guard hasHashChain else { throw .invalid("hash_chain is required for a video") }
        guard let frameCount, frameCount > 0 else { throw .invalid("frame_count is required for a video, above 0") }
        guard let durationMilliseconds, durationMilliseconds > 0 else {
            throw .invalid("duration_ms is required for a video, above 0")
        }
    }
}

extension HashOnlySubmission {
    /// What the assertion signs.
    static func signedBytes(
        _ submission: HashOnlySubmission,
        received: ReceivedJSON,
        _ profile: CaptureSettings.Profile
    ) throws(UnreadableJSON) -> [UInt8] {
        switch profile {
        case .reference: return Array(SerdeJSONEncoder.encode(submission.reserialised).utf8)
        case .mediactl1:
            guard case .object(let members) = received else { throw UnreadableJSON() }
            return Array(try CanonicalJSON.text(of: .object(members.filter { $0.key != "assertion" })).utf8)
        }
    }

    /// The structures, written out again in the order of their declarations (contract 2.1): the received bytes count for
    /// nothing, and what no structure has is not signed.
    var reserialised: JSONValue {
        [
            "capture_mode": .string(captureMode),
            "captured_at": .string(capturedAt),
            "depth_analysis": [
                "depth_variance": .decimal(Double(depth.variance)),
                "depth_layers": .int(Int(depth.layers)),
                "edge_coherence": .decimal(Double(depth.coherence)),
                "min_depth": .decimal(Double(depth.minimum)),
                "max_depth": .decimal(Double(depth.maximum)),
                "is_likely_real_scene": .bool(depth.isLikelyRealScene),
                "algorithm_version": .string(depth.version),
            ],
            "media_hash": .string(mediaHash),
            "media_type": .string(mediaType),
            "metadata": metadata,
            "metadata_flags": flags,
        ]
    }

    private var metadata: JSONValue {
        var metadata: JSONObject = [:]
        if let location, let coordinates = location.coordinates {
            var place: JSONObject = [
                "latitude": .decimal(coordinates.latitude),
                "longitude": .decimal(coordinates.longitude),
            ]
            place["altitude"] = location.altitude.map(JSONValue.decimal)
            place["accuracy"] = location.accuracy.map(JSONValue.decimal)
            metadata["location"] = .object(place)
        }
        metadata["timestamp"] = timestamp.map(JSONValue.string)
        metadata["device_model"] = deviceModel.map(JSONValue.string)
        return .object(metadata)
    }

    /// Also what is stored.
    var flags: JSONValue {
        [
            "location_included": .bool(locationFlag.isIncluded),
            "location_level": .string(locationFlag.level),
            "timestamp_included": .bool(timestampFlag.isIncluded),
            "timestamp_level": .string(timestampFlag.level),
            "device_info_included": .bool(deviceInfoFlag.isIncluded),
            "device_info_level": .string(deviceInfoFlag.level),
        ]
    }
}
