import CLibcrypto
import Foundation

/// Standard alphabet with padding.
func base64(_ bytes: [UInt8]) -> String { Data(bytes).base64EncodedString() }

/// Base64 with the alphabet of RFC 4648 section 5, without padding.
func urlSafeText(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
}

/// Lower-case hex.
func hexString(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
}

/// Unguessable bytes.
func randomBytes(_ count: Int) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    RAND_bytes(&bytes, CInt(count))
    return bytes
}

/// Unguessable bytes behind `SANDBOX!`, so that a secret found in a log is known to be from a sandbox, and tests can
/// search for all of them.
func markedRandomBytes(_ count: Int) -> [UInt8] {
    let mark = Array("SANDBOX!".utf8)
    return mark + randomBytes(count - mark.count)
}

/// A number with so many decimals, rounded half to even as C does.
func decimals(_ value: Double, _ count: Int) -> String {
    String(format: "%.\(count)f", value)
}

/// A number with a leading zero below ten.
func twoDigits(_ number: Int) -> String {
    number < 10 ? "0\(number)" : String(number)
}

/// A number with zeros before it, so many digits at least.
func padded(_ number: some BinaryInteger, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
}

/// An id as the real servers make them: a UUID in lower case.
func newUUID() -> String { UUID().uuidString.lowercased() }
