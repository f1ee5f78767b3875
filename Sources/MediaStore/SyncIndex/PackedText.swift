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
