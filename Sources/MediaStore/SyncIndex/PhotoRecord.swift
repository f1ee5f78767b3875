internal import MediaCore

/// A point in time as a PhotoSync server wrote it (photosync contract section 0: RFC 3339, 0 to 9 fraction digits).
public struct PhotoTime: Sendable, Hashable, Comparable {
    /// The text as received, kept because a server may compare it to the digit.
    public var text: String
    /// Microseconds since 1970, UTC; further digits are cut off. Negative before 1970.
    public var microseconds: Int64

    /// Makes a time of two forms that say the same.
    public init(text: String, microseconds: Int64) {
        self.text = text
        self.microseconds = microseconds
    }

    /// By the clock; the text does not matter.
    public static func < (left: PhotoTime, right: PhotoTime) -> Bool { left.microseconds < right.microseconds }
}

/// The device that a photo came from.
public struct PhotoDevice: Sendable, Hashable {
    /// The server's id, opaque.
    public var id: String
    /// Its name, as its owner chose it. Untrusted text.
    public var name: String
    /// `ios` or `android`.
    public var platform: String

    /// Makes a device.
    public init(id: String, name: String, platform: String) {
        self.id = id
        self.name = name
        self.platform = platform
    }
}

/// A photo of the server's listing, as the index keeps it (photosync contract section 5).
public struct PhotoRecord: Sendable, Hashable {
    /// The server's id, opaque.
    public var id: String
    /// SHA-256 of the bytes as uploaded, 64 lower-case hexadecimal characters.
    public var sha256: String
    /// The name as uploaded. Untrusted text, not unique.
    public var originalFilename: String
    /// Bytes as uploaded; the stored file may differ (contract section 6).
    public var fileSize: Int64
    /// When it was taken.
    public var takenAt: PhotoTime
    /// When it reached the server.
    public var uploadedAt: PhotoTime
    /// Where it came from; nil for a legacy photo.
    public var originDevice: PhotoDevice?
    /// Pixels, where the server knows them.
    public var width: Int?
    /// Pixels, where the server knows them.
    public var height: Int?

    /// Makes a record.
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

/// How ids, digests and times are kept: in few bytes where they have their usual form.
enum PhotoCoding {
    /// Appends the 16 bytes of a lower-case UUID; false, with nothing appended, when the text is none.
    static func packUUID(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) -> Bool {
        guard text.count == 36, text[8] == hyphen, text[13] == hyphen, text[18] == hyphen, text[23] == hyphen else {
            return false
        }
        return pack(text, uuidDigits, &bytes)
    }

    /// Appends the 32 bytes of a SHA-256 digest in lower-case hexadecimal; false, with nothing appended, when the text
    /// is none.
    static func packDigest(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) -> Bool {
        text.count == 64 && pack(text, digestDigits, &bytes)
    }

    private static let uuidDigits = [0..<8, 9..<13, 14..<18, 19..<23, 24..<36]
    private static let digestDigits = [0..<64]

    private static func pack(
        _ text: UnsafeBufferPointer<UInt8>,
        _ ranges: [Range<Int>],
        _ bytes: inout [UInt8]
    ) -> Bool {
        HexText.lowerCaseValues.withUnsafeBufferPointer { values in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count / 2) { packed in
                var count = 0
                // Of all digits: whether one was none is asked once.
                var seen: UInt8 = 0
                for range in ranges {
                    for place in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
                        let high = values[Int(text[place])]
                        let low = values[Int(text[place + 1])]
                        seen |= high | low
                        packed[count] = high << 4 | low & 15
                        count += 1
                    }
                }
                guard seen < 16 else { return false }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: packed[..<count]))
                return true
            }
        }
    }

    /// The text of a packed id.
    static func uuid(_ bytes: UnsafeRawBufferPointer) -> String {
        HexText.lowerCase(bytes, hyphensBefore: bytes.count == 16 ? [4, 6, 8, 10] : [])
    }

    /// The text of a packed digest.
    static func digest(_ bytes: UnsafeRawBufferPointer) -> String { HexText.lowerCase(bytes) }

    private static let hyphen = UInt8(ascii: "-")

    // MARK: Times

    /// Whether `time` gives this text.
    static func isUsual(_ text: UnsafeBufferPointer<UInt8>, _ microseconds: Int64) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: RFC3339.longestText) { buffer in
            let count = RFC3339.write(microseconds: microseconds, to: buffer)
            return count == text.count && buffer[..<count].elementsEqual(text)
        }
    }

    /// The text of a time as the server writes it: UTC, without trailing zeros in the fraction (photosync contract
    /// section 0). Empty beyond the years 0 to 9999.
    static func time(_ microseconds: Int64) -> String { RFC3339.text(microseconds: microseconds) ?? "" }
}

/// One text in the form in which it is kept.
struct PackedText {
    private let bytes: [UInt8]
    private let isBlob: Bool
    /// Whether it stands for no text.
    var isNull = false

    init(_ text: String, packedBy pack: (UnsafeBufferPointer<UInt8>, inout [UInt8]) -> Bool) {
        var text = text
        var packed: [UInt8] = []
        isBlob = text.withUTF8 { pack($0, &packed) }
        bytes = isBlob ? packed : Array(text.utf8)
    }

    /// Calls `body` with the value, which is valid until it returns.
    func withValue<Result>(_ body: (RawValue?) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes { try body(isNull ? nil : isBlob ? .blob($0) : .text($0)) }
    }
}

/// Photos of a page with their texts in the form in which they are kept, so that whoever has a core to spare makes it,
/// and not the one thread that writes.
package struct EncodedPhotos: Sendable {
    /// Where a text lies.
    private struct Part {
        var range = 0..<0
        var isBlob = false
        var isNull = false
    }

    private struct Texts {
        var id: Part
        var digest: Part
        var name: Part
        var takenText: Part
        var uploadedText: Part
    }

    /// What is bound, in the order of the parameters of `PhotoSQL`.
    struct Values {
        let id: RawValue?
        let digest: RawValue?
        let name: RawValue?
        let takenText: RawValue?
        let uploadedText: RawValue?
    }

    let photos: [PhotoRecord]
    /// All texts, one after the other.
    private var bytes: [UInt8] = []
    private var texts: [Texts] = []

    /// Enough for a photo whose name is not long.
    private static let usualByteCount = 80

    /// Encodes photos; takes about half a microsecond each.
    package init(_ photos: [PhotoRecord]) {
        self.photos = photos
        bytes.reserveCapacity(photos.count * Self.usualByteCount)
        texts.reserveCapacity(photos.count)
        // A span lends its photos: a copy of one counts the references to each of its texts.
        let span = photos.span
        for place in span.indices { add(span[place]) }
    }

    private mutating func add(_ photo: borrowing PhotoRecord) {
        texts.append(
            Texts(
                id: add(photo.id, packedBy: PhotoCoding.packUUID),
                digest: add(photo.sha256, packedBy: PhotoCoding.packDigest),
                name: add(photo.originalFilename) { _, _ in false },
                takenText: add(photo.takenAt),
                uploadedText: add(photo.uploadedAt)
            )
        )
    }

    private mutating func add(
        _ text: String,
        packedBy pack: (UnsafeBufferPointer<UInt8>, inout [UInt8]) -> Bool
    ) -> Part {
        let start = bytes.count
        let isPacked = Self.withUTF8(of: text) { utf8 in
            if pack(utf8, &bytes) { return true }
            bytes.append(contentsOf: utf8)
            return false
        }
        return Part(range: start..<bytes.count, isBlob: isPacked)
    }

    private mutating func add(_ time: PhotoTime) -> Part {
        let start = bytes.count
        let isUsual = Self.withUTF8(of: time.text) { utf8 in
            if PhotoCoding.isUsual(utf8, time.microseconds) { return true }
            bytes.append(contentsOf: utf8)
            return false
        }
        return Part(range: start..<bytes.count, isNull: isUsual)
    }

    /// In place where the text allows it, as all do that come from a listing.
    private static func withUTF8<Result>(of text: String, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        if let result = text.utf8.withContiguousStorageIfAvailable(body) { return result }
        var copy = text
        return copy.withUTF8(body)
    }

    /// Calls `body` with the values of each photo in turn; they are valid until it returns.
    func forEach(_ body: (_ place: Int, Values) throws -> Void) rethrows {
        try bytes.withUnsafeBytes { buffer in
            func value(_ part: Part) -> RawValue? {
                guard !part.isNull else { return nil }
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[part.range])
                return part.isBlob ? .blob(bytes) : .text(bytes)
            }
            for (place, texts) in texts.enumerated() {
                try body(
                    place,
                    Values(
                        id: value(texts.id),
                        digest: value(texts.digest),
                        name: value(texts.name),
                        takenText: value(texts.takenText),
                        uploadedText: value(texts.uploadedText)
                    )
                )
            }
        }
    }
}
