/// A one-time delete token: 64 lower-case hexadecimal characters (gighive contract, section 0). Its description never
/// shows it.
public struct DeleteToken: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible {
    /// The secret. For the wire, the store and `--show-token` only.
    public let secret: String

    /// Takes any non-empty token without control characters: a server may change its token's shape, and a token of odd
    /// shape is better kept than lost.
    ///
    /// - Returns: nil for an empty or blank text, and for one longer than 512 bytes or with control characters.
    public init?(_ text: String) {
        let isPrintable = text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7f }
        guard !text.isEmpty, text.utf8.count <= 512, isPrintable else { return nil }
        secret = text
    }

    /// Whether it has the shape of the contract.
    public var isWellFormed: Bool {
        HashDatabase.isDigest(secret)
    }

    /// Redacted.
    public var description: String { "delete token ***" }
    /// Redacted.
    public var debugDescription: String { description }
}
