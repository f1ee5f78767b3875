import CLibcrypto
import Foundation

/// Standard alphabet with padding.
func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

/// Reads ``base64(_:)``; nil for anything else.
func base64Bytes(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }

/// Base64 with the alphabet of RFC 4648 section 5, without padding.
func urlSafeText(_ bytes: [UInt8]) -> String {
    base64(bytes).replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
}

func hexString(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    RAND_bytes(&bytes, CInt(count))
    return bytes
}

/// 32 bytes in hex: `SANDBOX!` and random bytes, so that tests can search for all secrets.
func newSecret() -> String { hexString(Array("SANDBOX!".utf8) + randomBytes(24)) }

/// Rounded half to even, as in C.
func decimals(_ value: Double, _ count: Int) -> String { String(format: "%.\(count)f", value) }

/// With leading zeros.
func padded(_ number: some BinaryInteger, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
}

/// In lowercase, as on the real servers.
func newUUID() -> String { UUID().uuidString.lowercased() }

/// In lowercase; empty without a dot.
func fileExtension(_ name: String) -> String {
    name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
}

extension String {
    /// Trimmed; nil if empty.
    var nonBlank: String? {
        let text = trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}
