internal import MediaCore

/// A SHA-256 digest (FIPS 180-4).
public struct SHA256Digest: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Reads the hexadecimal form in either case; nil unless it is exactly 64 digits.
    public init?(hex: String) {
        guard hex.utf8.count == 64, let bytes = HexText.bytes(hex) else { return nil }
        self.bytes = bytes
    }

    /// 64 lower-case hexadecimal characters.
    public var hex: String { HexText.lowerCase(bytes) }

    /// The hexadecimal form.
    public var description: String { hex }
}
