/// Bytes as hexadecimal text.
package enum HexText {
    /// Two lowercase digits for each byte, with a hyphen before the bytes at these indexes.
    package static func lowerCase(_ bytes: [UInt8], hyphensBefore places: [Int] = []) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2 + places.count) { buffer in
            var end = 0
            for (place, byte) in bytes.enumerated() {
                if places.contains(place) {
                    buffer[end] = hyphen
                    end += 1
                }
                buffer[end] = digit(byte >> 4)
                buffer[end + 1] = digit(byte & 15)
                end += 2
            }
            return end
        }
    }

    /// Reads the output of `lowerCase`: groups of this many bytes with hyphens between them; nil for any other text.
    package static func bytes(lowerCase text: String, groups: [Int]) -> [UInt8]? {
        var text = text
        let count = groups.reduce(0, +)
        return text.withUTF8 { text in
            guard text.count == count * 2 + groups.count - 1 else { return nil }
            // Combines all digits, so validity is checked only once.
            var seen: UInt8 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, end in
                values.withUnsafeBufferPointer { values in
                    var position = 0
                    for group in groups {
                        if position > 0 {
                            seen |= text[position] == hyphen ? 0 : 255
                            position += 1
                        }
                        for _ in 0..<group {
                            let (high, low) = (values[Int(text[position])], values[Int(text[position + 1])])
                            seen |= high | low
                            buffer[end] = high << 4 | low & 15
                            (position, end) = (position + 2, end + 1)
                        }
                    }
                }
            }
            return seen < 16 ? bytes : nil
        }
    }

    /// Whether a text consists of lowercase digits.
    static func isLowerCase(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { text in
            values.withUnsafeBufferPointer { values in text.reduce(0) { $0 | values[Int($1)] } } < 16
        }
    }

    private static var hyphen: UInt8 { UInt8(ascii: "-") }

    private static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

    /// The value of each digit in lower case, by its character; 255 for other characters.
    private static let values = (UInt8.min...UInt8.max).map { byte -> UInt8 in
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x61...0x66: byte - 0x57
        default: 255
        }
    }

    /// Whether a character is a hexadecimal digit, in either case.
    package static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    /// The value of exactly `count` digits (at most 8), in either case and without a sign.
    package static func number(_ digits: ArraySlice<UInt8>, count: Int) -> UInt32? {
        guard digits.count == count, digits.allSatisfy(isDigit) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    /// Reads digits in either case; nil for anything but pairs of digits.
    package static func bytes(_ text: String) -> [UInt8]? {
        text.utf8.allSatisfy(isDigit) ? bytes(lowerCase: text.lowercased(), groups: [text.utf8.count / 2]) : nil
    }
}

/// SHA-256 digests, and delete tokens, as text: 64 hexadecimal digits.
package enum SHA256Text {
    /// The digits in lower case; nil for anything else. Does not copy a text that has no uppercase digits.
    package static func lowerCased(_ text: String) -> String? {
        guard text.utf8.count == 64 else { return nil }
        if HexText.isLowerCase(text) { return text }
        return text.utf8.allSatisfy(HexText.isDigit) ? text.lowercased() : nil
    }

    /// Whether a text consists of 64 digits in lower case.
    package static func isLowerCase(_ text: String) -> Bool { text.utf8.count == 64 && HexText.isLowerCase(text) }
}
