import GRDB
import HTTPTypes

/// `POST /api/v1/captures/hash-only` (contract 1).
struct HashOnlyEndpoint {
    let catalog: CaptureCatalog
    let links: CaptureLinks

    private var settings: CaptureSettings { catalog.settings }

    /// The data of the 202.
    func accept(_ body: [UInt8], _ received: ReceivedJSON, from call: DeviceCall) throws -> JSONValue {
        let submission = try HashOnlySubmission(received, settings.profile)
        try submission.validate()
        let signed: [UInt8]
        do {
            signed = try HashOnlySubmission.signedBytes(submission, received: received, settings.profile)
        } catch {
            throw CaptureRefusal.attestationFailed
        }
        let assertion = CaptureAssertion.base64(submission.assertion).flatMap(CaptureAssertion.init(cbor:))
        guard try CaptureGate(catalog: catalog).accept(assertion, over: signed, of: call) else {
            throw CaptureRefusal.attestationFailed
        }
        let row = row(submission, from: call.device, body: body)
        do {
            try catalog.add(row)
        } catch is DatabaseError {
            throw try refusal(of: row)
        }
        return [
            "capture_id": .string(row.id),
            "status": "complete",
            "capture_mode": .string(row.mode.rawValue),
            "media_stored": false,
            "verification_url": .string(links.verification(of: row.id)),
        ]
    }

    private func row(_ submission: HashOnlySubmission, from device: CaptureDevice, body: [UInt8]) -> CaptureRow {
        let evidence = HashOnlyEvidence(submission: submission, device: device, profile: settings.profile)
        return CaptureRow(
            id: CaptureID.new(),
            deviceID: device.id,
            mode: .hashOnly,
            hash: submission.mediaHash.lowercased(),
            confidence: evidence.confidence,
            evidence: evidence.json,
            flags: submission.flags,
            mediaType: settings.profile == .reference ? "photo" : submission.mediaType,
            location: evidence.location,
            capturedAt: CaptureTime(submission.capturedAt) ?? settings.now,
            uploadedAt: settings.now,
            body: body
        )
    }

    /// The reference server knows no duplicates, only a database that refuses; ours names the capture to its own device.
    private func refusal(of row: CaptureRow) throws -> CaptureRefusal {
        guard settings.profile == .mediactl1, let known = try catalog.capture(hash: row.hash) else {
            return .databaseError
        }
        let details: JSONValue = [
            "capture_id": .string(known.id),
            "verification_url": .string(links.verification(of: known.id)),
        ]
        return CaptureRefusal(
            .conflict,
            "DUPLICATE_CAPTURE",
            "This media was captured before",
            details: known.deviceID == row.deviceID ? details : nil
        )
    }
}

/// What the server makes of a hash-only capture whose assertion holds (contract 1.4, 3.4).
struct HashOnlyEvidence {
    let submission: HashOnlySubmission
    let device: CaptureDevice
    let profile: CaptureSettings.Profile

    /// `pass` or `fail`, and on `mediactl-1` `unavailable`, which the reference server cannot tell from `fail`.
    private var depthStatus: String {
        if submission.depth.status == "unavailable" { return "unavailable" }
        return submission.depth.isLikelyRealScene ? "pass" : "fail"
    }

    var confidence: String {
        CaptureConfidence.level(
            hardware: "pass",
            depth: depthStatus,
            cappedFor: profile == .mediactl1 ? device.level : nil
        )
    }

    /// What the public may know of the place: four decimals at the level `precise`.
    var location: String? {
        guard submission.locationFlag.isIncluded, let location = submission.location else { return nil }
        guard let place = location.coordinates else {
            return [location.city, location.country].compactMap { $0 }.joined(separator: ", ")
        }
        switch submission.locationFlag.level {
        case "coarse": return "~\(decimals(place.latitude, 1)), ~\(decimals(place.longitude, 1))"
        case "precise": return "\(decimals(place.latitude, 4)), \(decimals(place.longitude, 4))"
        default: return "Location not disclosed"
        }
    }

    var json: JSONValue {
        [
            "platform": .string(profile == .reference ? "ios" : device.platform),
            "hardware_attestation": [
                "status": "pass",
                "level": .string(device.level),
                "device_model": .string(device.model),
                "assertion_verified": true,
                "counter_valid": true,
            ],
            "depth_analysis": depth,
            "metadata": [
                "timestamp_valid": .bool(submission.timestampFlag.isIncluded),
                "timestamp_delta_seconds": 0,
                "model_verified": .bool(submission.deviceInfoFlag.isIncluded),
                "model_name": .string(submission.deviceModel ?? "Unknown"),
                "resolution_valid": true,
                "location_available": .bool(submission.locationFlag.isIncluded),
                "location_opted_out": .bool(!submission.locationFlag.isIncluded),
            ],
            "processing": CaptureConfidence.processing,
        ]
    }

    private var depth: JSONValue {
        [
            "status": .string(depthStatus),
            "depth_variance": .decimal(Double(submission.depth.variance)),
            "depth_layers": .int(Int(submission.depth.layers)),
            "edge_coherence": .decimal(Double(submission.depth.coherence)),
            "min_depth": .decimal(Double(submission.depth.minimum)),
            "max_depth": .decimal(Double(submission.depth.maximum)),
            "is_likely_real_scene": .bool(submission.depth.isLikelyRealScene),
            "source": "device",
            "method": .string(profile == .reference ? "lidar" : "depth_map"),
        ]
    }
}
