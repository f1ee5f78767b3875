import HTTPTypes

/// Captures read back (contract 6).
struct CaptureReadEndpoint {
    let catalog: CaptureCatalog
    let links: CaptureLinks

    /// `GET /api/v1/captures/{uuid}` (6.2).
    func capture(_ id: String, for device: CaptureDevice) throws -> JSONValue {
        guard let id = CaptureID.read(id) else { throw CaptureRefusal.invalid("Invalid capture id") }
        guard let row = try catalog.capture(id) else { throw CaptureRefusal.captureNotFound }
        guard row.deviceID == device.id else {
            throw CaptureRefusal(.forbidden, "FORBIDDEN", "Capture belongs to another device")
        }
        return json(row)
    }

    /// `GET /api/v1/captures/by-hash/{hex}` (3.4 no. 6). Another device's capture is as good as none: nobody shall learn
    /// by asking what others have photographed.
    func capture(hash: String, for device: CaptureDevice) throws -> JSONValue {
        guard hash.wholeMatch(of: /[0-9a-fA-F]{64}/) != nil else { throw CaptureRefusal.invalid("Invalid hash") }
        guard let row = try catalog.capture(hash: hash.lowercased()), row.deviceID == device.id else {
            throw CaptureRefusal(.notFound, "HASH_NOT_FOUND", "No capture of this hash")
        }
        return json(row)
    }

    private func json(_ row: CaptureRow) -> JSONValue {
        var object: JSONObject = [
            "capture_id": .string(row.id),
            "device_id": .string(row.deviceID),
            "confidence_level": .string(row.confidence),
            "status": "complete",
            "evidence": row.evidence,
            "captured_at": .string(row.capturedAt.text),
            "uploaded_at": .string(row.uploadedAt.text),
        ]
        object["location_coarse"] = row.location.map(JSONValue.string)
        object["verification_url"] = .string(links.verification(of: row.id))
        object["capture_mode"] = .string(row.mode.rawValue)
        object["media_stored"] = .bool(row.mode == .full)
        if row.mode == .hashOnly { object["media_hash"] = .string(row.hash) }
        object["metadata_flags"] = row.flags
        object["detection_available"] = false
        return .object(object)
    }

    /// `GET /api/v1/verify/{uuid}` (6.3): no mode, no hash, no flags.
    func publicPage(_ id: String) throws -> JSONValue {
        guard let id = CaptureID.read(id) else { throw CaptureRefusal.invalid("Invalid capture id") }
        guard let row = try catalog.capture(id) else { throw CaptureRefusal.captureNotFound }
        var object: JSONObject = [
            "capture_id": .string(row.id),
            "confidence_level": .string(row.confidence),
            "captured_at": .string(row.capturedAt.text),
            "uploaded_at": .string(row.uploadedAt.text),
        ]
        object["location_coarse"] = row.location.map(JSONValue.string)
        object["evidence"] = row.evidence
        return .object(object)
    }
}
