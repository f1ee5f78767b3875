import COpenSSL
import Foundation

/// A P-256 public key that was checked to be a point of the curve.
struct P256PublicKey: Sendable, Equatable {
    /// SEC 1, uncompressed: 65 bytes.
    let point: [UInt8]

    /// SubjectPublicKeyInfo of id-ecPublicKey with prime256v1 up to the point (RFC 5480).
    private static let prefix: [UInt8] = [
        0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48,
        0xCE, 0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
    ]

    /// Nil for anything but an uncompressed point of the curve.
    init?(point: [UInt8]) {
        guard point.count == 65, point[0] == 4, PublicKey(der: Self.prefix + point) != nil else { return nil }
        self.point = point
    }

    /// Reads a public key file in PEM; nil for anything but P-256.
    init?(pemFile path: String) {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }
        let lines = text.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("-----") }
        guard let der = Data(base64Encoded: lines.joined()).map(Array.init), der.starts(with: Self.prefix) else {
            return nil
        }
        self.init(point: Array(der.dropFirst(Self.prefix.count)))
    }

    /// ECDSA with SHA-256; the signature is DER or 64 bytes r‖s (contract 3.1).
    func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        guard let key = PublicKey(der: Self.prefix + point) else { return false }
        let der = signature.count == 64 ? Self.der(r: signature[..<32], s: signature[32...]) : signature
        return key.verifies(der, of: message)
    }

    /// ECDSA-Sig-Value (RFC 3279 section 2.2.3).
    static func der(r: ArraySlice<UInt8>, s: ArraySlice<UInt8>) -> [UInt8] {
        DER.sequence(DER.integer(r) + DER.integer(s))
    }
}
