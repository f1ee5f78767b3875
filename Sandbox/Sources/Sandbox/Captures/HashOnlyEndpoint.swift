import Foundation
import GRDB
import HTTPTypes

/// `POST /api/v1/captures/hash-only` (contract 1).
struct HashOnlyEndpoint {
    let catalog: CaptureCatalog
    let links: CaptureLinks

    private var settings: CaptureSettings { catalog.settings }

    func accept(_ body: [UInt8], _ received: JSONValue, from call: DeviceCall) throws -> JSONValue {
        let submission = try HashOnlySubmission(received, settings.profile)
        try submission.validate()
        let signed = try? submission.signedBytes(received, settings.profile)
        guard let signed, try CaptureGate(catalog: catalog).accept(submission.assertion, over: signed, of: call) else {
            throw CaptureRefusal.attestationFailed
        }
        let evidence = HashOnlyEvidence(submission: submission, device: call.device, profile: settings.profile)
        let row = CaptureRow(
            deviceId: call.device.id,
            mode: .hashOnly,
            hash: submission.mediaHash.lowercased(),
            confidence: evidence.confidence,
            evidence: evidence.json,
            flags: submission.flags,
            mediaType: settings.profile == .reference ? "photo" : submission.mediaType,
            location: evidence.location,
            capturedAt: Timestamp(submission.capturedAt) ?? settings.now,
            uploadedAt: settings.now,
            body: Data(body)
        )
        do {
            try catalog.add(row)
        } catch is DatabaseError {
            throw try refusal(of: row)
        }
        return [
            "capture_id": .string(row.id), "status": "complete", "capture_mode": .string(row.mode.rawValue),
            "media_stored": false, "verification_url": .string(links.verification(of: row.id)),
        ]
    }

    /// The reference server has no error for duplicates; `mediactl-1` returns the capture to its own device.
    private func refusal(of row: CaptureRow) throws -> CaptureRefusal {
        guard settings.profile == .mediactl1, let known = try catalog.capture(hash: row.hash) else {
            return .databaseError
        }
        var refusal = CaptureRefusal(.conflict, "DUPLICATE_CAPTURE", "This media was captured before")
        guard known.deviceId == row.deviceId else { return refusal }
        refusal.details = [
            "capture_id": .string(known.id), "verification_url": .string(links.verification(of: known.id)),
        ]
        return refusal
    }
}

/// The evidence of a hash-only capture with a valid assertion (contract 1.4, 3.4).
struct HashOnlyEvidence {
    let submission: HashOnlySubmission
    let device: CaptureDevice
    let profile: CaptureSettings.Profile

    /// `pass` or `fail`; on `mediactl-1` also `unavailable`.
    private var depthStatus: String {
        submission.depthStatus == "unavailable" ? "unavailable" : submission.isLikelyRealScene ? "pass" : "fail"
    }

    var confidence: String {
        let cap = profile == .mediactl1 ? device.level : nil
        return CaptureEvidence.confidence(hardware: "pass", depth: depthStatus, cappedFor: cap)
    }

    /// The public location: four decimals at the level `precise`.
    var location: String? {
        guard submission.includes("location") else { return nil }
        guard let place = submission.coordinates else { return submission.placeName }
        switch submission.flags["location_level"] {
        case "coarse": return "~\(decimals(place.latitude, 1)), ~\(decimals(place.longitude, 1))"
        case "precise": return "\(decimals(place.latitude, 4)), \(decimals(place.longitude, 4))"
        default: return "Location not disclosed"
        }
    }

    var json: JSONValue {
        var depth: JSONValue = ["status": .string(depthStatus)]
        for member in submission.depth.members ?? [] where member.key != "algorithm_version" {
            depth[member.key] = member.value
        }
        depth["source"] = "device"
        depth["method"] = profile == .reference ? "lidar" : "depth_map"
        let metadata: JSONValue = [
            "timestamp_valid": .bool(submission.includes("timestamp")), "timestamp_delta_seconds": 0,
            "model_verified": .bool(submission.includes("device_info")),
            "model_name": submission.metadata["device_model"] ?? "Unknown", "resolution_valid": true,
            "location_available": .bool(submission.includes("location")),
            "location_opted_out": .bool(!submission.includes("location")),
        ]
        let platform = profile == .reference ? "ios" : device.platform
        return CaptureEvidence.json(platform, device, hardware: "pass", depth: depth, metadata: metadata)
    }
}
