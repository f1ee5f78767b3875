package enum HexText {
    /// Two lower-case digits for each byte, with a hyphen before the bytes at these indexes.
    package static func lowerCase(_ bytes: [UInt8], hyphensBefore places: [Int] = []) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2 + places.count) { buffer in
            var end = 0
            for (place, byte) in bytes.enumerated() {
                if places.contains(place) {
                    buffer[end] = UInt8(ascii: "-")
                    end += 1
                }
                buffer[end] = digits[Int(byte >> 4)]
                buffer[end + 1] = digits[Int(byte & 15)]
                end += 2
            }
            return end
        }
    }

    private static let digits = Array("0123456789abcdef".utf8)

    /// The value of each digit, by its character; 255 for other characters.
    private static let values: [UInt8] = (0...255).map { byte in
        Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) } ?? 255
    }

    /// Whether a character is a hexadecimal digit, in either case.
    package static func isDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte) || (0x61...0x66).contains(byte)
    }

    /// The number that exactly `count` digits express, in either case and without a sign; 8 at most.
    package static func number(_ digits: ArraySlice<UInt8>, count: Int) -> UInt32? {
        guard digits.count == count, digits.allSatisfy(isDigit) else { return nil }
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    /// Reads digits in either case; nil for anything but pairs of them.
    package static func bytes(_ text: String) -> [UInt8]? { bytes(Array(text.utf8)) }

    package static func bytes(_ digits: [UInt8]) -> [UInt8]? {
        guard digits.count.isMultiple(of: 2), digits.allSatisfy({ values[Int($0)] < 16 }) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { place in
            values[Int(digits[place])] << 4 | values[Int(digits[place + 1])]
        }
    }
}

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
