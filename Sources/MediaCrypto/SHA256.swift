/// A SHA-256 digest (FIPS 180-4).
public struct SHA256Digest: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the hexadecimal form in either case; nil unless it is exactly 64 digits.
    public init?(hex: String) {
        let digits = hex.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard hex.utf8.count == 64, digits.count == 64 else { return nil }
        bytes = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// 64 lower-case hexadecimal characters.
    public var hex: String { HexText.lowerCase(bytes) }

    /// The hexadecimal form.
    public var description: String { hex }
}
