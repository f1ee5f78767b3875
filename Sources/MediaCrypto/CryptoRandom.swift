internal import COpenSSL

/// Random bytes fit for keys.
package enum CryptoRandom {
    /// Bytes of OpenSSL's generator, which the system's generator seeds.
    ///
    /// - Parameter count: How many.
    /// - Returns: So many bytes, for use as a secret or as what must never come twice.
    /// - Throws: `CryptoError` when there is no randomness.
    package static func bytes(_ count: Int) throws(CryptoError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_priv_bytes(&bytes, Int32(clamping: count)) == 1 else { throw .fromOpenSSL("no randomness") }
        return bytes
    }
}
