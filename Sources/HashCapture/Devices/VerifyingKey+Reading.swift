internal import Foundation
public import MediaCrypto

extension VerifyingKey {
    /// Reads a P-256 public key: PEM of a `SubjectPublicKeyInfo` (RFC 5480), the same in DER, or an uncompressed point in
    /// 65 bytes.
    ///
    /// - Parameter file: The content of the file.
    /// - Returns: nil for anything else, private keys and other curves among it.
    public static func reading(_ file: [UInt8]) -> VerifyingKey? {
        let der = pem(in: file) ?? file
        let point = der.starts(with: namedP256) ? Array(der.dropFirst(namedP256.count)) : der
        return try? VerifyingKey(sec1: point)
    }

    /// What precedes the 65 bytes of the point: SEQUENCE { id-ecPublicKey, prime256v1 }, BIT STRING.
    private static let namedP256: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01,
        0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    private static func pem(in file: [UInt8]) -> [UInt8]? {
        let lines = String(decoding: file, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let first = lines.firstIndex(of: "-----BEGIN PUBLIC KEY-----"),
            let last = lines[first...].firstIndex(of: "-----END PUBLIC KEY-----")
        else { return nil }
        return Data(base64Encoded: lines[(first + 1)..<last].joined()).map(Array.init)
    }
}
