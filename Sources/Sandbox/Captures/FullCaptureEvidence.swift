/// What the server makes of a full capture (contract 7).
struct FullCaptureEvidence {
    let upload: FullCaptureUpload
    let call: DeviceCall
    /// `pass`, `fail` or `unavailable`.
    let hardware: String
    let settings: CaptureSettings

    /// The sandbox analyses no depth maps: what it says here is what the real server says of one it cannot unpack.
    private let depthStatus = "unavailable"

    var confidence: String {
        // A device whose request was not verified is capped, and so are all that are not phones.
        let level = settings.profile == .mediactl1 ? call.device.level : call.isVerified ? nil : "unverified"
        return CaptureConfidence.level(hardware: hardware, depth: depthStatus, cappedFor: level)
    }

    var json: JSONValue {
        [
            "platform": .string(call.device.platform),
            "hardware_attestation": [
                "status": .string(hardware),
                "level": .string(call.device.level),
                "device_model": .string(call.device.model),
                "assertion_verified": .bool(hardware == "pass"),
                "counter_valid": .bool(hardware == "pass"),
            ],
            "depth_analysis": ["status": .string(depthStatus), "source": "server"],
            "metadata": [
                "timestamp_valid": .bool(abs(settings.now.seconds - upload.time.seconds) <= 900),
                "timestamp_delta_seconds": .int(settings.now.seconds - upload.time.seconds),
                "model_name": .string(upload.deviceModel),
                "location_available": .bool(upload.location != nil),
            ],
            "processing": CaptureConfidence.processing,
        ]
    }
}
