internal import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaTransport

extension CaptureInput {
    /// What the settings let out of this.
    ///
    /// - Parameters:
    ///   - digest: Of the media.
    ///   - request: Its settings.
    ///   - profile: The server's.
    ///   - programVersion: Of this program, for the level `full`.
    ///   - now: The submission.
    /// - Returns: The payload.
    func payload(
        _ digest: SHA256Digest,
        _ request: CaptureRequest,
        profile: CaptureProfile,
        programVersion: String,
        now: Date
    ) -> HashOnlyPayload {
        let filter = filter(request, profile: profile, programVersion: programVersion)
        let metadata = filter.metadata(of: facts)
        let settings = request.settings
        return HashOnlyPayload(
            mediaHash: digest,
            mediaType: mediaType,
            depthAnalysis: analysis,
            metadata: metadata,
            flags: MetadataFlags(
                of: metadata,
                location: settings.location,
                timestamp: settings.timestamp,
                deviceInfo: settings.deviceInfo
            ),
            capturedAt: filter.capturedAt(of: facts, now: now),
            video: video
        )
    }

    func filter(_ request: CaptureRequest, profile: CaptureProfile, programVersion: String) -> MetadataFilter {
        MetadataFilter(
            settings: request.settings,
            profile: profile,
            sendsCoarseCoordinates: request.sendsCoarseCoordinates,
            systemVersion: SystemVersion.current,
            programVersion: programVersion
        )
    }

    /// What the user should know about what becomes public, and what was left out.
    func notices(about payload: HashOnlyPayload, _ request: CaptureRequest, profile: CaptureProfile) -> [CaptureNotice]
    {
        var notices = notices
        notices.append(.capturedAtIsPublic(payload.capturedAt))
        if facts.capturedAt == nil, request.settings.timestamp != .none { notices.append(.captureTimeUnknown) }
        let level = request.settings.location
        switch payload.metadata.location {
        case .coordinates: notices.append(.coordinatesArePublic(decimals: level == .precise ? 4 : 1))
        case .place: break
        case nil where level == .coarse && facts.hasPlace:
            notices.append(profile == .reference ? .coarseLocationLeftOut : .placeUnknown)
        case nil: break
        }
        return notices
    }
}

extension CaptureFacts {
    /// Whether anything is known of where it was taken.
    var hasPlace: Bool { (latitude != nil && longitude != nil) || city != nil || country != nil }
}

extension HashOnlyPayload {
    /// The payload at the time of its submission: where no time may be told, `captured_at` is the UTC day of that, and not
    /// of an earlier try (contract section 4).
    func restamped(at now: Date) -> HashOnlyPayload {
        guard flags.timestampLevel == .none else { return self }
        var settings = PrivacySettings()
        settings.timestamp = .none
        let filter = MetadataFilter(settings: settings, profile: .mediactl1, systemVersion: "", programVersion: "")
        var payload = self
        payload.capturedAt = filter.capturedAt(of: CaptureFacts(), now: now)
        return payload
    }
}

extension DepthAnalysis {
    /// As records keep it.
    var json: String {
        let members: JSONObject = [
            "status": .string(status.rawValue), "depth_variance": .double(depthVariance),
            "depth_layers": .integer(Int64(depthLayers)), "edge_coherence": .double(edgeCoherence),
            "min_depth": .double(minDepth), "max_depth": .double(maxDepth),
            "is_likely_real_scene": .bool(isLikelyRealScene), "algorithm_version": .string(Self.algorithmVersion),
        ]
        return members.json()
    }

    /// Reads what a record keeps; nil for anything else.
    init?(json: String) {
        // A record always says the status, which a body for the reference server cannot.
        guard let members = JSONValue.object(in: Array(json.utf8)[...]), members["status"] != nil else { return nil }
        self.init(reading: members)
    }
}
