internal import MediaCrypto

extension HashOnlyPayload {
    /// The mode of every payload here, on the wire.
    static let captureMode = "hash_only"

    /// What the server of a profile verifies: everything but the assertion, or the seven members of contract 2.1.
    ///
    /// - Throws: `CaptureError` `.internalError` for what the profile cannot take.
    func signedValue(for profile: CaptureProfile) throws(CaptureError) -> WireValue {
        try check(for: profile)
        let members: [WireValue.Member] = [
            .init("capture_mode", .string(Self.captureMode)),
            .init("captured_at", .string(capturedAt)),
            .init("depth_analysis", try depthAnalysis.value(for: profile)),
            .init("media_hash", .string(mediaHash.hex)),
            .init("media_type", .string(mediaType.rawValue)),
            .init("metadata", try metadata.value(for: profile)),
            .init("metadata_flags", flags.value),
        ]
        return switch profile {
        case .mediactl1: .object(members + (try videoMembers()))
        case .reference: .object(members)
        }
    }

    /// The body's object. The reference server does not sign the members of a video, but wants them (M9).
    func bodyValue(for profile: CaptureProfile, assertion: String) throws(CaptureError) -> WireValue {
        let signed = try signedValue(for: profile)
        let more = profile == .reference ? try videoMembers() : []
        return signed.adding(more + [.init("assertion", .string(assertion))])
    }

    private func videoMembers() throws(CaptureError) -> [WireValue.Member] {
        guard let video else { return [] }
        var members: [WireValue.Member] = [
            .init("hash_chain", video.hashChain.value),
            .init("frame_count", .integer(Int64(video.frameCount))),
            .init("duration_ms", .integer(Int64(video.durationMilliseconds))),
        ]
        if let analysis = video.temporalAnalysis {
            members.append(.init("temporal_depth_analysis", try analysis.value()))
        }
        return members
    }

    /// What servers refuse must not even be signed (contract 1.2).
    private func check(for profile: CaptureProfile) throws(CaptureError) {
        switch (mediaType, video) {
        case (.photo, nil): break
        case (.photo, _?): throw Self.impossible("a photo has no members of a video")
        case (.video, nil): throw CaptureError(.videoMembersMissing)
        case (.video, let video?):
            guard video.frameCount > 0, video.durationMilliseconds > 0 else {
                throw Self.impossible("a video has at least one frame and one millisecond")
            }
        }
        guard depthAnalysis.depthLayers >= 0, (0...1).contains(depthAnalysis.edgeCoherence) else {
            throw Self.impossible("the depth analysis is out of its range")
        }
        if profile == .reference, case .place? = metadata.location {
            throw Self.impossible("this server cannot take a city or a country (M5)")
        }
    }

    private static func impossible(_ detail: String) -> CaptureError {
        CaptureError(.internalError, detail: detail)
    }
}

extension DepthAnalysis {
    fileprivate func value(for profile: CaptureProfile) throws(CaptureError) -> WireValue {
        let members: [WireValue.Member] = [
            .init("depth_variance", try .narrow(depthVariance, "depth_variance")),
            .init("depth_layers", .integer(Int64(depthLayers))),
            .init("edge_coherence", try .narrow(edgeCoherence, "edge_coherence")),
            .init("min_depth", try .narrow(minDepth, "min_depth")),
            .init("max_depth", try .narrow(maxDepth, "max_depth")),
            .init("is_likely_real_scene", .bool(isLikelyRealScene)),
            .init("algorithm_version", .string(Self.algorithmVersion)),
        ]
        // The reference server would drop it unsigned (trap 20).
        return switch profile {
        case .mediactl1: .object(members + [.init("status", .string(status.rawValue))])
        case .reference: .object(members)
        }
    }
}

extension TemporalDepthAnalysis {
    fileprivate func value() throws(CaptureError) -> WireValue {
        .object([
            .init("mean_variance", try .narrow(meanVariance, "mean_variance")),
            .init("variance_stability", try .narrow(varianceStability, "variance_stability")),
            .init("temporal_coherence", try .narrow(temporalCoherence, "temporal_coherence")),
            .init("is_likely_real_scene", .bool(isLikelyRealScene)),
            .init("keyframe_count", .integer(Int64(keyframeCount))),
            .init("algorithm_version", .string(DepthAnalysis.algorithmVersion)),
        ])
    }
}

extension CaptureMetadata {
    fileprivate func value(for profile: CaptureProfile) throws(CaptureError) -> WireValue {
        var members: [WireValue.Member] = []
        if let location { members.append(.init("location", try location.value(for: profile))) }
        if let timestamp { members.append(.init("timestamp", .string(timestamp))) }
        if let deviceModel { members.append(.init("device_model", .string(deviceModel))) }
        return .object(members)
    }
}

extension CaptureMetadata.Location {
    fileprivate func value(for profile: CaptureProfile) throws(CaptureError) -> WireValue {
        switch self {
        case .coordinates(let latitude, let longitude):
            let exact = { (degrees: Double) in
                profile == .reference ? DecimalDigits.rounded(degrees) : degrees
            }
            return .object([
                .init("latitude", try .wide(exact(latitude), "latitude")),
                .init("longitude", try .wide(exact(longitude), "longitude")),
            ])
        case .place(let city, let country):
            let city = city.map { [WireValue.Member("city", .string($0))] } ?? []
            return .object(city + [.init("country", .string(country))])
        }
    }
}

extension MetadataFlags {
    fileprivate var value: WireValue {
        .object([
            .init("location_included", .bool(locationIncluded)),
            .init("location_level", .string(locationLevel.rawValue)),
            .init("timestamp_included", .bool(timestampIncluded)),
            .init("timestamp_level", .string(timestampLevel.rawValue)),
            .init("device_info_included", .bool(deviceInfoIncluded)),
            .init("device_info_level", .string(deviceInfoLevel.rawValue)),
        ])
    }
}

extension VideoMembers.HashChain {
    /// The version of the chain's rule, on the wire.
    static let version = "1.0"

    fileprivate var value: WireValue {
        .object([
            .init("final_hash", .string(finalHash.hex)),
            .init("chain_length", .integer(Int64(chainLength))),
            .init("version", .string(Self.version)),
            .init("checkpoint_count", .integer(Int64(checkpointCount))),
        ])
    }
}
