public import MediaStore
public import MediaTransport

/// A photo to upload.
public struct PhotoUpload: Sendable {
    public var content: FileContent
    /// The photo's original name, without directories. The server derives the type from the extension.
    public var fileName: String
    /// The date taken; if nil, the server reads it from the file or uses the current time. Sent in UTC, since the
    /// server ignores offsets (trap 4).
    public var takenAt: PhotoTime?
    /// The origin device; nil creates a legacy photo.
    public var deviceID: String?

    /// The text parts, in order.
    func fields() throws(PhotoSyncError) -> [(name: String, value: String)] {
        var fields = [(name: "originalFilename", value: fileName)]
        // The server would silently replace a date that it cannot parse with the current time (trap 5).
        if let takenAt { fields.append(("dateTaken", try takenAt.canonicalText())) }
        if let deviceID { fields.append(("deviceId", deviceID)) }
        return fields
    }

    /// The file name of the part, which servers may use for the stored file: the original name with `_` in place of
    /// characters that parsers treat differently (trap 16). The original name is sent as `originalFilename`.
    var partName: String {
        let name = String(String.UnicodeScalarView(fileName.unicodeScalars.map { Self.isPlain($0) ? $0 : "_" }))
        return name.hasPrefix(".") ? "photo" + name : name
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.isASCII {
            return scalar.properties.isAlphabetic || "0123456789 ._-()+".unicodeScalars.contains(scalar)
        }
        return scalar.properties.isAlphabetic || scalar.properties.numericType != nil
    }
}
