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
