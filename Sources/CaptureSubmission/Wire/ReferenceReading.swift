internal import MediaCore
internal import MediaTransport

/// The members of a body that the reference server keeps when it serializes the body again (contract 1.2 and 2.1):
/// unknown members and `null` are dropped, strings are unchanged, and numbers get the type of their member.
enum ReferenceReading {
    /// - Returns: nil if the server responds with 422.
    static func signedValue(of body: JSONObject) -> JSONValue? {
        // These members are not signed (M9), but the server refuses a body in which one has the wrong type.
        guard object(unsigned, of: body) != nil else { return nil }
        return object(signed, of: body)
    }

    /// Members in the order in which the server writes them.
    private typealias Members = KeyValuePairs<String, Kind>

    private indirect enum Kind: Sendable {
        case text
        case flag
        case int32
        /// binary64.
        case wide
        /// binary32.
        case narrow
        case object(Members)
        /// A member that may be absent or `null`.
        case optional(Kind)
    }

    private static let signed: Members = [
        "capture_mode": .text, "captured_at": .text,
        "depth_analysis": .object([
            "depth_variance": .narrow, "depth_layers": .int32, "edge_coherence": .narrow, "min_depth": .narrow,
            "max_depth": .narrow, "is_likely_real_scene": .flag, "algorithm_version": .text,
        ]),
        "media_hash": .text, "media_type": .text,
        "metadata": .object([
            "location": .optional(
                .object([
                    "latitude": .wide, "longitude": .wide, "altitude": .optional(.wide), "accuracy": .optional(.wide),
                ])
            ),
            "timestamp": .optional(.text), "device_model": .optional(.text),
        ]),
        "metadata_flags": .object([
            "location_included": .flag, "location_level": .text, "timestamp_included": .flag, "timestamp_level": .text,
            "device_info_included": .flag, "device_info_level": .text,
        ]),
    ]

    private static let unsigned: Members = [
        "assertion": .text, "frame_count": .optional(.int32), "duration_ms": .optional(.int32),
        "hash_chain": .optional(.object(["final_hash": .text, "chain_length": .int32])),
        "temporal_depth_analysis": .optional(
            .object([
                "mean_variance": .narrow, "variance_stability": .narrow, "temporal_coherence": .narrow,
                "is_likely_real_scene": .flag, "keyframe_count": .int32, "algorithm_version": .text,
            ])
        ),
    ]

    /// nil if a member is missing or has the wrong type.
    private static func object(_ members: Members, of values: JSONObject) -> JSONValue? {
        var present: [JSONObject.Member] = []
        for (name, kind) in members {
            var (kind, value) = (kind, values[name])
            if case .optional(let wrapped) = kind {
                if value ?? .null == .null { continue }
                kind = wrapped
            }
            value = value.flatMap { read($0, as: kind) }
            guard let value else { return nil }
            present.append((name, value))
        }
        return .object(JSONObject(present))
    }

    private static func read(_ value: JSONValue, as kind: Kind) -> JSONValue? {
        switch kind {
        case .text: value.text.map(JSONValue.string)
        case .flag: value.flag.map(JSONValue.bool)
        case .int32: value.int32.map { .integer(Int64($0)) }
        case .wide: value.number.map(JSONValue.double)
        case .narrow: value.number.map { .double(Double(Float($0))) }
        case .object(let members): value.members.flatMap { object(members, of: $0) }
        case .optional(let kind): read(value, as: kind)
        }
    }
}
