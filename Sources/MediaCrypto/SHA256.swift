/// A SHA-256 digest (FIPS 180-4).
public struct SHA256Digest: Sendable, Hashable, CustomStringConvertible {
    /// 32 bytes.
    public let bytes: [UInt8]

    /// 64 lower-case hexadecimal characters.
    public var hex: String { "" }

    /// The hexadecimal form.
    public var description: String { hex }
}

/// SHA-256 over bytes that come in pieces. Not thread-safe; one owner.
public struct SHA256Hasher: ~Copyable {
    /// Starts a digest.
    ///
    /// - Throws: `CryptoError` when OpenSSL cannot provide the algorithm.
    public init() throws(CryptoError) {}

    /// Adds bytes.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {}

    /// The digest of everything added so far; more may follow.
    public func snapshot() throws(CryptoError) -> SHA256Digest { SHA256Digest(bytes: []) }
}

/// OpenSSL refused.
public struct CryptoError: Error, Sendable, Equatable {
    /// OpenSSL's words.
    public var detail: String
    /// Makes an error.
    public init(_ detail: String) { self.detail = detail }
}
