internal import Foundation
internal import MediaCore
internal import MediaCrypto

/// SHA-1 of a file, as the server names files (tapes contract 6.3, trap 14).
struct ImmichChecksum: Sendable, Hashable {
    /// 28 characters; of any other length the server reads hexadecimal digits.
    let base64: String

    /// A digest of 20 bytes.
    init(_ digest: [UInt8]) {
        base64 = Data(digest).base64EncodedString()
    }

    /// Reads 40 hexadecimal characters; nil for anything else.
    init?(hex: String) {
        guard hex.utf8.count == 40, let digest = HexText.bytes(hex) else { return nil }
        self.init(digest)
    }
}
