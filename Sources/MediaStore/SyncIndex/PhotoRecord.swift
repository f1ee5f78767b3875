internal import MediaCore

/// A point in time as a PhotoSync server wrote it (photosync contract section 0: RFC 3339, 0 to 9 fraction digits).
public struct PhotoTime: Sendable, Hashable, Comparable {
    /// The text as received, kept because a server may compare it literally.
    public var text: String
    /// Microseconds since 1970, UTC; further digits are truncated. Negative before 1970.
    public var microseconds: Int64

    /// Creates a time from two equivalent forms.
    public init(text: String, microseconds: Int64) {
        self.text = text
        self.microseconds = microseconds
    }

    /// Compares the points in time; the text is ignored.
    public static func < (left: PhotoTime, right: PhotoTime) -> Bool { left.microseconds < right.microseconds }
}

/// The device that a photo came from.
public struct PhotoDevice: Sendable, Hashable {
    /// The ID on the server, opaque.
    public var id: String
    /// The device's name, as chosen by its owner. Untrusted text.
    public var name: String
    /// `ios` or `android`.
    public var platform: String

    public init(id: String, name: String, platform: String) {
        self.id = id
        self.name = name
        self.platform = platform
    }
}

/// A photo in the server's listing, as stored in the index (photosync contract section 5).
public struct PhotoRecord: Sendable, Hashable {
    /// The ID on the server, opaque.
    public var id: String
    /// SHA-256 of the bytes as uploaded, 64 lowercase hexadecimal characters.
    public var sha256: String
    /// The name as uploaded. Untrusted text, not unique.
    public var originalFilename: String
    /// Bytes as uploaded; the stored file may differ (contract section 6).
    public var fileSize: Int64
    public var takenAt: PhotoTime
    /// When the photo reached the server.
    public var uploadedAt: PhotoTime
    /// The device that the photo came from; nil for a legacy photo.
    public var originDevice: PhotoDevice?
    /// Width in pixels, if the server reports it.
    public var width: Int?
    /// Height in pixels, if the server reports it.
    public var height: Int?

    public init(
        id: String,
        sha256: String,
        originalFilename: String,
        fileSize: Int64,
        takenAt: PhotoTime,
        uploadedAt: PhotoTime,
        originDevice: PhotoDevice? = nil,
        width: Int? = nil,
        height: Int? = nil
    ) {
        self.id = id
        self.sha256 = sha256
        self.originalFilename = originalFilename
        self.fileSize = fileSize
        self.takenAt = takenAt
        self.uploadedAt = uploadedAt
        self.originDevice = originDevice
        self.width = width
        self.height = height
    }
}

/// How IDs, digests and times are stored: in few bytes if they have the standard form.
enum PhotoCoding {
    /// The 16 bytes of a lowercase UUID; any other text as it is.
    static func id(_ text: String) -> RawValue {
        HexText.bytes(lowerCase: text, groups: uuidGroups).map(RawValue.blob) ?? .text(text)
    }

    /// The 32 bytes of a SHA-256 digest in lowercase hexadecimal; any other text as it is.
    static func digest(_ text: String) -> RawValue {
        HexText.bytes(lowerCase: text, groups: digestGroups).map(RawValue.blob) ?? .text(text)
    }

    private static let uuidGroups = [4, 2, 2, 2, 6]
    private static let digestGroups = [32]

    /// The text of a packed ID or digest.
    static func text(_ bytes: [UInt8]) -> String {
        HexText.lowerCase(bytes, hyphensBefore: bytes.count == 16 ? [4, 6, 8, 10] : [])
    }

    /// The text of a time; null if `time` reproduces it.
    static func text(_ time: PhotoTime) -> RawValue {
        RFC3339.isText(time.text, of: time.microseconds) ? .null : .text(time.text)
    }

    /// The text of a time as the server writes it: UTC, without trailing zeros in the fraction (photosync contract
    /// section 0). Empty outside the years 0 to 9999.
    static func time(_ microseconds: Int64) -> String { RFC3339.text(microseconds: microseconds) ?? "" }
}
