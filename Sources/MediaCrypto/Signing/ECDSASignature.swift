internal import COpenSSL

/// Forms of an ECDSA signature of P-256.
package enum ECDSASignature {
    /// Bytes of r and of s.
    private static let half = 32

    /// r‖s from either form.
    ///
    /// DER may have 64 bytes as well, when r and s are short; that is tried first, for hardly any r‖s looks like it.
    ///
    /// - Parameter signature: 64 bytes r‖s, or DER (RFC 3279 section 2.2.3) to its last byte.
    /// - Returns: 64 bytes, big-endian and padded; nil for anything else.
    package static func raw(from signature: [UInt8]) -> [UInt8]? {
        raw(fromDER: signature) ?? (signature.count == 2 * half ? signature : nil)
    }

    private static func raw(fromDER signature: [UInt8]) -> [UInt8]? {
        signature.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            guard let parsed = d2i_ECDSA_SIG(nil, &position, bytes.count) else {
                ERR_clear_error()
                return nil
            }
            defer { ECDSA_SIG_free(parsed) }
            guard let start = bytes.baseAddress, position == start + bytes.count else { return nil }
            let (r, s) = (ECDSA_SIG_get0_r(parsed), ECDSA_SIG_get0_s(parsed))
            guard BN_is_negative(r) == 0, BN_is_negative(s) == 0 else { return nil }
            var raw = [UInt8](repeating: 0, count: 2 * half)
            let fits = raw.withUnsafeMutableBufferPointer { target in
                BN_bn2binpad(r, target.baseAddress, Int32(half)) == half
                    && BN_bn2binpad(s, target.baseAddress.map { $0 + half }, Int32(half)) == half
            }
            return fits ? raw : nil
        }
    }

    /// DER from either form, as certificates, OpenSSL and most servers take it.
    ///
    /// - Parameter signature: As in `raw(from:)`.
    /// - Returns: ECDSA-Sig-Value (RFC 3279 section 2.2.3); nil for anything else.
    package static func der(from signature: [UInt8]) -> [UInt8]? {
        guard let raw = raw(from: signature), let value = ECDSA_SIG_new() else { return nil }
        defer { ECDSA_SIG_free(value) }
        let r = BN_bin2bn(Array(raw[..<half]), Int32(half), nil)
        let s = BN_bin2bn(Array(raw[half...]), Int32(half), nil)
        guard r != nil, s != nil, ECDSA_SIG_set0(value, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        // Both numbers belong to `value` now.
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_ECDSA_SIG(value, &encoded)
        guard count > 0, let encoded else { return nil }
        defer { CRYPTO_free(encoded, nil, 0) }
        return Array(UnsafeBufferPointer(start: encoded, count: Int(count)))
    }
}
