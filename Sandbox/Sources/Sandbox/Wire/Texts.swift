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

/// Random bytes of cryptographic quality.
func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    RAND_bytes(&bytes, CInt(count))
    return bytes
}

/// 32 bytes in hex: `SANDBOX!` and random bytes, so that a secret found in a log is known to be from a sandbox, and
/// tests can search for all of them.
func newSecret() -> String { hexString(Array("SANDBOX!".utf8) + randomBytes(24)) }

/// A number with this many decimals, rounded half to even as in C.
func decimals(_ value: Double, _ count: Int) -> String { String(format: "%.\(count)f", value) }

/// A number with leading zeros and at least this many digits.
func padded(_ number: some BinaryInteger, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
}

/// An id in the format of the real servers: a UUID in lower case.
func newUUID() -> String { UUID().uuidString.lowercased() }

/// The part after the last dot of a name, in lower case; empty without one.
func fileExtension(_ name: String) -> String {
    name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
}

extension String {
    /// Without white space at its ends; nil if nothing remains.
    var nonBlank: String? {
        let text = trimmingCharacters(in: .whitespacesAndNewlines)
        return text.isEmpty ? nil : text
    }
}
