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

/// The form of a full capture (contract 7).
///
/// A photo may have 10 MiB and a depth map 5 MiB; the framework's limit on the whole form is below both, so the rules for
/// those sizes never come into play.
struct FullCaptureUpload {
    var photo: [UInt8]
    /// Gzip, as sent.
    var depthMap: [UInt8]
    /// Strings as sent: they are signed.
    var photoHash: String
    var capturedAt: String
    var time: CaptureTime
    var deviceModel: String
    var width: Int
    var height: Int
    var assertion: String?
    var location: (latitude: Double, longitude: Double)?

    init(_ form: CaptureForm) throws {
        photo = try Self.part("photo", form)
        depthMap = try Self.part("depth_map", form)
        guard let metadata = form.parts["metadata"], let json = try? ReceivedJSON(metadata) else {
            throw CaptureRefusal.invalid("metadata must be JSON")
        }
        do {
            let fields = try TypedFields(json, "metadata")
            capturedAt = try fields.string("captured_at")
            deviceModel = try fields.string("device_model")
            photoHash = try fields.string("photo_hash")
            let dimensions = try fields.fields("depth_map_dimensions")
            width = Int(try dimensions.int32("width"))
            height = Int(try dimensions.int32("height"))
            assertion = try fields.optionalString("assertion")
            location = try fields.optionalFields("location").map { place in
                (try place.double("latitude"), try place.double("longitude"))
            }
        } catch let refusal as CaptureRefusal {
            // It is read by hand, not by the framework: no 422 here.
            throw CaptureRefusal.invalid(refusal.message)
        }
        guard let time = CaptureTime(capturedAt) else { throw CaptureRefusal.invalid("captured_at must be RFC 3339") }
        self.time = time
        try validate()
    }

    private static func part(_ name: String, _ form: CaptureForm) throws -> [UInt8] {
        guard let content = form.parts[name], !content.isEmpty else {
            throw CaptureRefusal.invalid("\(name) is required")
        }
        return content
    }

    private func validate() throws {
        guard !deviceModel.allSatisfy(\.isWhitespace) else {
            throw CaptureRefusal.invalid("device_model must not be empty")
        }
        guard photoHash.wholeMatch(of: /[0-9a-fA-F]{64}/) != nil else {
            throw CaptureRefusal.invalid("photo_hash must be 64 hexadecimal digits")
        }
        guard (1...1000).contains(width), (1...1000).contains(height) else {
            throw CaptureRefusal.invalid("depth_map_dimensions must be from 1 to 1000")
        }
        if let location {
            guard (-90...90).contains(location.latitude), (-180...180).contains(location.longitude) else {
                throw CaptureRefusal.invalid("location is out of range")
            }
        }
        guard hexString(Digest.sha256(photo)) == photoHash.lowercased() else {
            throw CaptureRefusal.invalid("photo_hash does not match the photo")
        }
    }
}

/// What the server makes of a full capture (contract 7).
struct FullCaptureEvidence {
    let upload: FullCaptureUpload
    let call: DeviceCall
    /// `pass`, `fail` or `unavailable`.
    let hardware: String
    let settings: CaptureSettings

    /// The sandbox does not analyze depth maps: it returns what the real server returns for one that it cannot unpack.
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
