/// Ids of captures and devices become parts of file names.
package enum CaptureID {
    /// Whether a text is a UUID in its usual form, lower case: 8-4-4-4-12 hexadecimal digits (RFC 9562 section 4).
    package static func isValid(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 36 else { return false }
        return bytes.enumerated().allSatisfy { place, byte in
            switch place {
            case 8, 13, 18, 23: byte == UInt8(ascii: "-")
            default: (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte)
            }
        }
    }
}
