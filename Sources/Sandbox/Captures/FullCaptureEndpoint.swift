import GRDB

/// `POST /api/v1/captures` (contract 7): the media itself, for those who want to send it.
struct FullCaptureEndpoint {
    let catalog: CaptureCatalog
    let links: CaptureLinks

    private var settings: CaptureSettings { catalog.settings }

    /// The data of the 202.
    func accept(_ body: [UInt8], _ exchange: Exchange, from call: DeviceCall) throws -> JSONValue {
        let upload = try FullCaptureUpload(try CaptureForm(body, exchange))
        let hardware = try hardware(upload, call)
        let evidence = FullCaptureEvidence(upload: upload, call: call, hardware: hardware, settings: settings)
        let row = CaptureRow(
            id: CaptureID.new(),
            deviceID: call.device.id,
            mode: .full,
            hash: upload.photoHash.lowercased(),
            confidence: evidence.confidence,
            evidence: evidence.json,
            flags: nil,
            mediaType: "photo",
            location: upload.location.map { "\(decimals($0.latitude, 2)), \(decimals($0.longitude, 2))" },
            capturedAt: upload.time,
            uploadedAt: settings.now,
            body: body
        )
        // A hash that is known violates the database's constraint: 500 on either server.
        try catalog.add(row)
        return [
            "capture_id": .string(row.id),
            "status": "complete",
            "verification_url": .string(links.verification(of: row.id)),
        ]
    }

    /// The assertion is optional and never in the way.
    private func hardware(_ upload: FullCaptureUpload, _ call: DeviceCall) throws -> String {
        guard let text = upload.assertion else { return "unavailable" }
        let assertion = CaptureAssertion.base64(text).flatMap(CaptureAssertion.init(cbor:))
        let signed = Array("\(upload.photoHash)|\(upload.capturedAt)".utf8)
        return try CaptureGate(catalog: catalog).accept(assertion, over: signed, of: call) ? "pass" : "fail"
    }
}
