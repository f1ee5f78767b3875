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
