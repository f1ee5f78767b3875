internal import MediaCore
internal import MediaTransport

/// The members of a body that the reference server keeps when it serializes the body again (contract 1.2 and 2.1):
/// unknown members and `null` are dropped, strings are unchanged, and numbers get the type of their member.
enum ReferenceReading {
    /// - Returns: nil if the server responds with 422.
    static func signedValue(of body: JSONObject) -> JSONValue? {
        let body = Members(values: body)
        guard let depth = body.object("depth_analysis").flatMap(depthAnalysis),
            let metadata = body.object("metadata").flatMap(metadata),
            let flags = body.object("metadata_flags").flatMap(flags),
            body.text("assertion") != nil, hasReadableVideoMembers(body)
        else { return nil }
        return object([
            ("capture_mode", body.text("capture_mode")), ("captured_at", body.text("captured_at")),
            ("depth_analysis", depth),
            ("media_hash", body.text("media_hash")), ("media_type", body.text("media_type")),
            ("metadata", metadata), ("metadata_flags", flags),
        ])
    }

    private static func depthAnalysis(_ members: Members) -> JSONValue? {
        object([
            ("depth_variance", members.narrow("depth_variance")), ("depth_layers", members.int32("depth_layers")),
            ("edge_coherence", members.narrow("edge_coherence")),
            ("min_depth", members.narrow("min_depth")), ("max_depth", members.narrow("max_depth")),
            ("is_likely_real_scene", members.flag("is_likely_real_scene")),
            ("algorithm_version", members.text("algorithm_version")),
        ])
    }

    private static func metadata(_ members: Members) -> JSONValue? {
        optionalObject([
            ("location", members.optional("location") { $0.members.map(Members.init).flatMap(location) }),
            ("timestamp", members.optional("timestamp") { $0.text.map(JSONValue.string) }),
            ("device_model", members.optional("device_model") { $0.text.map(JSONValue.string) }),
        ])
    }

    private static func location(_ members: Members) -> JSONValue? {
        optionalObject([
            ("latitude", members.wide("latitude").map(Optional.some)),
            ("longitude", members.wide("longitude").map(Optional.some)),
            ("altitude", members.optional("altitude") { $0.number.map(JSONValue.double) }),
            ("accuracy", members.optional("accuracy") { $0.number.map(JSONValue.double) }),
        ])
    }

    private static func flags(_ members: Members) -> JSONValue? {
        object([
            ("location_included", members.flag("location_included")),
            ("location_level", members.text("location_level")),
            ("timestamp_included", members.flag("timestamp_included")),
            ("timestamp_level", members.text("timestamp_level")),
            ("device_info_included", members.flag("device_info_included")),
            ("device_info_level", members.text("device_info_level")),
        ])
    }

    /// Whether the members of a video can be read. They are not signed (M9), but the server refuses a body in which one
    /// has the wrong type.
    private static func hasReadableVideoMembers(_ body: Members) -> Bool {
        let parts: [JSONValue??] = [
            body.optional("frame_count") { $0.int32.map { .integer(Int64($0)) } },
            body.optional("duration_ms") { $0.int32.map { .integer(Int64($0)) } },
            body.optional("hash_chain") { $0.members.map(Members.init).flatMap(chain) },
            body.optional("temporal_depth_analysis") { $0.members.map(Members.init).flatMap(temporal) },
        ]
        return parts.allSatisfy { $0 != nil }
    }

    private static func chain(_ members: Members) -> JSONValue? {
        object([("final_hash", members.text("final_hash")), ("chain_length", members.int32("chain_length"))])
    }

    private static func temporal(_ members: Members) -> JSONValue? {
        object([
            ("mean_variance", members.narrow("mean_variance")),
            ("variance_stability", members.narrow("variance_stability")),
            ("temporal_coherence", members.narrow("temporal_coherence")),
            ("is_likely_real_scene", members.flag("is_likely_real_scene")),
            ("keyframe_count", members.int32("keyframe_count")),
            ("algorithm_version", members.text("algorithm_version")),
        ])
    }

    /// An object whose members are all required.
    private static func object(_ members: [(name: String, value: JSONValue?)]) -> JSONValue? {
        optionalObject(members.map { ($0.name, $0.value.map(Optional.some)) })
    }

    /// An object in which `.some(nil)` is an absent member, and nil an unreadable one.
    private static func optionalObject(_ members: [(name: String, value: JSONValue??)]) -> JSONValue? {
        var present: [JSONObject.Member] = []
        for (name, value) in members {
            guard let value else { return nil }
            if let value { present.append((name, value)) }
        }
        return .object(JSONObject(present))
    }
}

/// Reads members of an object as the types that the reference server expects.
private struct Members {
    let values: JSONObject

    func text(_ name: String) -> JSONValue? { values[name]?.text.map(JSONValue.string) }

    func flag(_ name: String) -> JSONValue? { values[name]?.flag.map(JSONValue.bool) }

    func int32(_ name: String) -> JSONValue? { values[name]?.int32.map { .integer(Int64($0)) } }

    func wide(_ name: String) -> JSONValue? { values[name]?.number.map(JSONValue.double) }

    func narrow(_ name: String) -> JSONValue? { values[name]?.number.map { .double(Double(Float($0))) } }

    func object(_ name: String) -> Members? { values[name]?.members.map(Members.init) }

    /// - Returns: `.some(nil)` for an absent member, nil for a member of the wrong type.
    func optional(_ name: String, _ read: (JSONValue) -> JSONValue?) -> JSONValue?? {
        guard let value = values[name], value != .null else { return .some(nil) }
        return read(value).map(Optional.some)
    }
}
