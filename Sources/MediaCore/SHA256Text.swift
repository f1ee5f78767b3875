/// SHA-256 digests, and delete tokens, as text: 64 hexadecimal digits.
package enum SHA256Text {
    /// The digits in lower case; nil for anything else. Does not copy a text without capitals.
    package static func lowerCased(_ text: String) -> String? {
        var hasCapitals = false
        var count = 0
        for byte in text.utf8 {
            guard HexText.isDigit(byte) else { return nil }
            if byte < UInt8(ascii: "a"), byte > UInt8(ascii: "9") { hasCapitals = true }
            count += 1
        }
        guard count == 64 else { return nil }
        return hasCapitals ? text.lowercased() : text
    }

    /// Whether a text consists of 64 digits in lower case.
    package static func isLowerCase(_ text: String) -> Bool { lowerCased(text) == text }
}
