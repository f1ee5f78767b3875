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
