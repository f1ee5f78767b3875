internal import CaptureSubmission
internal import Foundation
internal import MediaCore
internal import MediaCrypto
internal import MediaTransport

extension CaptureSession {
    /// The payload that the settings of a request allow, and the resulting notices.
    func payload(
        of input: CaptureInput,
        _ digest: SHA256Digest,
        _ request: CaptureRequest
    ) -> (payload: HashOnlyPayload, notices: [CaptureNotice]) {
        let filter = filter(request)
        let finding = filter.placeFinding(of: input.facts)
        let metadata = filter.metadata(of: input.facts, finding)
        let settings = request.settings
        let payload = HashOnlyPayload(
            mediaHash: digest,
            mediaType: input.mediaType,
            depthAnalysis: input.analysis,
            metadata: metadata,
            flags: MetadataFlags(
                location: settings.location,
                timestamp: filter.timestampLevel(for: input.facts),
                deviceInfo: settings.deviceInfo
            ),
            capturedAt: filter.capturedAt(of: input.facts, now: dependencies.now()),
            video: input.video
        )
        return (payload, input.notices(about: payload, finding, request, profile))
    }

    func filter(_ request: CaptureRequest) -> MetadataFilter {
        MetadataFilter(
            settings: request.settings,
            profile: profile,
            sendsCoarseCoordinates: request.sendsCoarseCoordinates,
            systemVersion: SystemVersion.current,
            programVersion: dependencies.programVersion
        )
    }
}

extension CaptureInput {
    /// `finding` is the reason why the table has no city and country for a known position.
    fileprivate func notices(
        about payload: HashOnlyPayload,
        _ finding: PlaceTable.Finding?,
        _ request: CaptureRequest,
        _ profile: CaptureProfile
    ) -> [CaptureNotice] {
        var notices = notices
        notices.append(.capturedAtIsPublic(payload.capturedAt))
        notices += timeNotices(request)
        let level = request.settings.location
        switch payload.metadata.location {
        case .coordinates: notices.append(.coordinatesArePublic(decimals: level == .precise ? 4 : 1))
        case .place: break
        case nil where level == .coarse && facts.hasPlace:
            if profile == .reference {
                notices.append(.coarseLocationOmitted)
            } else if case .border(let candidates) = finding {
                notices.append(.nearBorder(candidates))
            } else {
                notices.append(.placeUnknown)
            }
        case nil: break
        }
        return notices
    }
}

extension CaptureInput {
    func timeNotices(_ request: CaptureRequest) -> [CaptureNotice] {
        guard facts.capturedAt == nil, request.settings.timestamp != .none else { return [] }
        guard facts.localTime != nil else { return [.captureTimeUnknown] }
        return request.settings.timestamp == .exact ? [.timeWithoutZone] : []
    }
}

extension CaptureFacts {
    var hasPlace: Bool { (latitude != nil && longitude != nil) || city != nil || country != nil }
}

extension HashOnlyPayload {
    /// The payload with the time of its submission: if the time is not disclosed, `captured_at` is the UTC day of this
    /// attempt, not of an earlier attempt (contract section 4).
    func restamped(at now: Date) -> HashOnlyPayload {
        guard flags.timestampLevel == .none else { return self }
        var payload = self
        payload.capturedAt = MetadataFilter.day(of: now)
        return payload
    }
}

extension DepthAnalysis {
    var json: String {
        let members: JSONObject = [
            "status": .string(status.rawValue), "depth_variance": .double(depthVariance),
            "depth_layers": .integer(Int64(depthLayers)), "edge_coherence": .double(edgeCoherence),
            "min_depth": .double(minDepth), "max_depth": .double(maxDepth),
            "is_likely_real_scene": .bool(isLikelyRealScene), "algorithm_version": .string(Self.algorithmVersion),
        ]
        return members.json()
    }

    /// nil for forms other than the form stored in records.
    init?(json: String) {
        // A record always has the status, which is absent in a body for the reference server.
        guard let members = JSONValue.object(in: Array(json.utf8)[...]), members["status"] != nil else { return nil }
        self.init(reading: members)
    }
}
