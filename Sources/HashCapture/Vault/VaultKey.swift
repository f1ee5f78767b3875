internal import CaptureSubmission
internal import Foundation
internal import MediaCrypto
internal import MediaFiles
internal import MediaStore
internal import Synchronization

/// Where the vault's key comes from.
public enum VaultKey: Sendable {
    /// A file of the data directory (0600), made with the first capture.
    case file
    /// A program that prints 64 hexadecimal digits or base64 of 32 bytes on its first line; no shell.
    case command([String])

    /// The key in a text: 64 hexadecimal digits in either case, or base64 of 32 bytes with padding.
    static func parse(_ text: some StringProtocol) -> StreamingAEAD.Key? {
        if let digest = SHA256Digest(hex: text.lowercased()) { return StreamingAEAD.Key(digest.bytes) }
        return Data(base64Encoded: String(text)).flatMap { StreamingAEAD.Key([UInt8]($0)) }
    }
}
