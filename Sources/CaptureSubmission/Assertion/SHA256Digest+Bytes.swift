package import MediaCrypto

extension SHA256Digest {
    /// The digest of bytes in memory.
    ///
    /// - Throws: `CaptureError` `.internalError` when OpenSSL cannot.
    package static func of(_ bytes: [UInt8]) throws(CaptureError) -> SHA256Digest {
        do {
            var hasher = try SHA256Hasher()
            bytes.withUnsafeBytes { hasher.update($0) }
            return try hasher.snapshot()
        } catch {
            throw CaptureError(.internalError, detail: error.detail, underlying: error)
        }
    }
}
