import Foundation
import HTTPTypes
import NIOCore

/// `POST /api/v1/captures` (contract 7): accepts the media itself. The framework's limit on the form is lower than the
/// limits for a photo and for a depth map. Depth maps are not analyzed: the response is always the one for a depth map
/// that cannot be unpacked.
struct FullCaptureEndpoint {
    let catalog: CaptureCatalog
    let links: CaptureLinks

    private var settings: CaptureSettings { catalog.settings }

    func accept(_ body: [UInt8], _ exchange: Exchange, from call: DeviceCall) throws -> JSONValue {
        let upload = try FullCaptureUpload(try form(body, exchange))
        let hardware = try hardware(upload, call)
        // Unverified requests and devices other than phones limit the confidence.
        let cap = settings.profile == .mediactl1 ? call.device.level : call.isVerified ? nil : "unverified"
        let late = settings.now.seconds - upload.time.seconds
        let metadata: JSONValue = [
            "timestamp_valid": .bool(abs(late) <= 900), "timestamp_delta_seconds": .int(late),
            "model_name": .string(upload.deviceModel), "location_available": .bool(upload.location != nil),
        ]
        let row = CaptureRow(
            deviceId: call.device.id,
            mode: .full,
            hash: upload.photoHash.lowercased(),
            confidence: CaptureEvidence.confidence(hardware: hardware, depth: "unavailable", cappedFor: cap),
            evidence: CaptureEvidence.json(
                call.device.platform,
                call.device,
                hardware: hardware,
                depth: ["status": "unavailable", "source": "server"],
                metadata: metadata
            ),
            mediaType: "photo",
            location: upload.location.map { "\(decimals($0.latitude, 2)), \(decimals($0.longitude, 2))" },
            capturedAt: upload.time,
            uploadedAt: settings.now,
            body: Data(body)
        )
        // A duplicate hash violates a constraint of the database: 500 on both servers.
        try catalog.add(row)
        return [
            "capture_id": .string(row.id), "status": "complete",
            "verification_url": .string(links.verification(of: row.id)),
        ]
    }

    private func form(_ body: [UInt8], _ exchange: Exchange) throws(CaptureRefusal) -> FormReader {
        let type = exchange.contentType
        guard type.value.lowercased() == "multipart/form-data", type["boundary"]?.isEmpty == false else {
            throw .invalid("Request must be multipart/form-data")
        }
        let form = FormReader(type, limit: CaptureSite.frameworkLimit)
        if body.count <= CaptureSite.frameworkLimit { form.consume(ByteBuffer(bytes: body)) }
        guard form.isComplete else { throw .invalid("Error parsing multipart/form-data request") }
        return form
    }

    /// The assertion is optional.
    private func hardware(_ upload: FullCaptureUpload, _ call: DeviceCall) throws -> String {
        guard let assertion = upload.assertion else { return "unavailable" }
        let signed = Array("\(upload.photoHash)|\(upload.capturedAt)".utf8)
        return try CaptureGate(catalog: catalog).accept(assertion, over: signed, of: call) ? "pass" : "fail"
    }
}

/// The form of a full capture (contract 7).
private struct FullCaptureUpload {
    /// As sent: the strings are signed.
    let photoHash: String
    let capturedAt: String
    let time: Timestamp
    let deviceModel: String
    let assertion: String?
    let location: (latitude: Double, longitude: Double)?

    init(_ form: FormReader) throws {
        for name in ["photo", "depth_map"] where form[name].map({ $0.value.readableBytes == 0 }) ?? true {
            throw CaptureRefusal.invalid("\(name) is required")
        }
        guard let photo = form["photo"], let metadata = form["metadata"],
            let json = try? JSONValue(Array(buffer: metadata.value))
        else { throw CaptureRefusal.invalid("metadata must be JSON") }
        let (width, height): (Int32, Int32)
        do {
            let fields = try TypedFields(json, "metadata")
            capturedAt = try fields.string("captured_at")
            deviceModel = try fields.string("device_model")
            photoHash = try fields.string("photo_hash")
            let dimensions = try fields.fields("depth_map_dimensions")
            (width, height) = (try dimensions.int32("width"), try dimensions.int32("height"))
            assertion = try fields.optionalString("assertion")
            location = try fields.optionalFields("location").map { place in
                (try place.double("latitude"), try place.double("longitude"))
            }
        } catch let refusal as CaptureRefusal {
            // The framework, which would respond with 422, does not parse these members.
            throw CaptureRefusal.invalid(refusal.message)
        }
        guard let time = Timestamp(capturedAt) else { throw CaptureRefusal.invalid("captured_at must be RFC 3339") }
        self.time = time
        let isOnEarth = location.map { (-90...90).contains($0.latitude) && (-180...180).contains($0.longitude) } ?? true
        let rules = [
            (!deviceModel.allSatisfy(\.isWhitespace), "device_model must not be empty"),
            (photoHash.wholeMatch(of: /[0-9a-fA-F]{64}/) != nil, "photo_hash must be 64 hexadecimal digits"),
            ([width, height].allSatisfy { (1...1000).contains($0) }, "depth_map_dimensions must be from 1 to 1000"),
            (isOnEarth, "location is out of range"),
            (
                hexString(Digest.sha256(Array(buffer: photo.value))) == photoHash.lowercased(),
                "photo_hash does not match the photo"
            ),
        ]
        if let broken = rules.first(where: { !$0.0 }) { throw CaptureRefusal.invalid(broken.1) }
    }
}
