/// Bytes as hexadecimal text.
package enum HexText {
    package static func lowerCase(_ bytes: [UInt8]) -> String { bytes.withUnsafeBytes { lowerCase($0) } }

    /// Two lower-case digits for each byte, with a hyphen before the bytes at these indexes.
    package static func lowerCase(_ bytes: UnsafeRawBufferPointer, hyphensBefore places: [Int] = []) -> String {
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

    /// The value of each lower-case digit, by its character; 255 for other characters.
    package static let lowerCaseValues: [UInt8] = (0...255).map { byte in
        digits.firstIndex(of: UInt8(byte)).map { UInt8($0) } ?? 255
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
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}
