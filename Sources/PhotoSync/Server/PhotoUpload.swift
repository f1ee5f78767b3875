public import MediaStore
public import MediaTransport

/// A photo to send.
public struct PhotoUpload: Sendable {
    /// The file, open.
    public var content: FileContent
    /// Its true name, without directories. The server judges the type by its extension.
    public var fileName: String
    /// When it was taken; nil lets the server look into the file, or take the present. Sent in UTC, since the server
    /// ignores offsets (trap 4).
    public var takenAt: PhotoTime?
    /// The device that it comes from; nil makes a legacy photo.
    public var deviceID: String?
    /// Sees the bytes of the file as they are sent.
    public var tap: (any ByteTap)?

    /// The text parts, in order.
    func fields() throws(PhotoSyncError) -> [(name: String, value: String)] {
        var fields = [(name: "originalFilename", value: fileName)]
        // A date that the server cannot read would silently become the present (trap 5).
        if let takenAt { fields.append(("dateTaken", try takenAt.canonicalText())) }
        if let deviceID { fields.append(("deviceId", deviceID)) }
        return fields
    }

    /// The file name of the part, by which servers may call the stored file: the true one, with `_` for all that they could
    /// read in different ways (trap 16). The true name goes into `originalFilename`.
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
