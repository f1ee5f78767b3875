/// A photo's texts in the form in which they are kept, one after the other in memory that is used again for the next one.
struct PhotoBytes {
    private struct Part {
        var range = 0..<0
        var isBlob = false
        var isNull = false
    }

    private var bytes: [UInt8] = []
    private var id = Part()
    private var digest = Part()
    private var name = Part()
    private var takenText = Part()
    private var uploadedText = Part()

    /// What is bound, in the order of the parameters of `PhotoSQL`.
    struct Values {
        let id: RawValue?
        let digest: RawValue?
        let name: RawValue?
        let takenText: RawValue?
        let uploadedText: RawValue?
    }

    /// One text in that form.
    struct Text {
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

    mutating func encode(_ photo: borrowing PhotoRecord) {
        bytes.removeAll(keepingCapacity: true)
        id = add(photo.id, packedBy: PhotoCoding.packUUID)
        digest = add(photo.sha256, packedBy: PhotoCoding.packDigest)
        name = add(photo.originalFilename) { _, _ in false }
        takenText = add(photo.takenAt)
        uploadedText = add(photo.uploadedAt)
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

    /// Calls `body` with the values, which are valid until it returns.
    func withValues<Result>(_ body: (Values) throws -> Result) rethrows -> Result {
        try bytes.withUnsafeBytes { buffer in
            func value(_ part: Part) -> RawValue? {
                guard !part.isNull else { return nil }
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[part.range])
                return part.isBlob ? .blob(bytes) : .text(bytes)
            }
            return try body(
                Values(
                    id: value(id),
                    digest: value(digest),
                    name: value(name),
                    takenText: value(takenText),
                    uploadedText: value(uploadedText)
                )
            )
        }
    }
}
