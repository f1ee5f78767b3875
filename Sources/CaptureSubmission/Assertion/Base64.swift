internal import Foundation

/// Standard base64 with padding and without line breaks (RFC 4648 section 4; trap 19).
enum Base64 {
    static func encoded(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString()
    }

    /// - Returns: nil for anything that `encoded` would not have written.
    static func decoded(_ text: String) -> [UInt8]? {
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { return nil }
        return Array(data)
    }
}
