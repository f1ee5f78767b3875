/// SHA-256 as text.
enum SHA256Text {
    /// 64 hexadecimal digits in lower case; nil for anything else.
    static func lowerCased(_ text: String) -> String? {
        var hasCapitals = false
        var count = 0
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): break
            case UInt8(ascii: "A")...UInt8(ascii: "F"): hasCapitals = true
            default: return nil
            }
            count += 1
        }
        guard count == 64 else { return nil }
        return hasCapitals ? text.lowercased() : text
    }
}
