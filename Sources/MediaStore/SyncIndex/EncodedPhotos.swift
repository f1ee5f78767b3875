/// Photos of a page with their texts in the form in which they are kept, so that whoever has a core to spare makes it, and
/// not the one thread that writes.
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
