internal import MediaCore

/// How ids, digests and times are kept: in few bytes where they have their usual form.
enum PhotoCoding {
    /// Appends the 16 bytes of a lower-case UUID.
    ///
    /// - Returns: false, with nothing appended, when the text is none.
    static func packUUID(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) -> Bool {
        guard text.count == 36, text[8] == hyphen, text[13] == hyphen, text[18] == hyphen, text[23] == hyphen else {
            return false
        }
        return pack(text, uuidDigits, &bytes)
    }

    /// Appends the 32 bytes of a SHA-256 digest in lower-case hexadecimal.
    ///
    /// - Returns: false, with nothing appended, when the text is none.
    static func packDigest(_ text: UnsafeBufferPointer<UInt8>, to bytes: inout [UInt8]) -> Bool {
        text.count == 64 && pack(text, digestDigits, &bytes)
    }

    private static let uuidDigits = [0..<8, 9..<13, 14..<18, 19..<23, 24..<36]
    private static let digestDigits = [0..<64]

    private static func pack(
        _ text: UnsafeBufferPointer<UInt8>,
        _ ranges: [Range<Int>],
        _ bytes: inout [UInt8]
    ) -> Bool {
        HexText.lowerCaseValues.withUnsafeBufferPointer { values in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: text.count / 2) { packed in
                var count = 0
                // Of all digits: whether one was none is asked once.
                var seen: UInt8 = 0
                for range in ranges {
                    for place in stride(from: range.lowerBound, to: range.upperBound, by: 2) {
                        let high = values[Int(text[place])]
                        let low = values[Int(text[place + 1])]
                        seen |= high | low
                        packed[count] = high << 4 | low & 15
                        count += 1
                    }
                }
                guard seen < 16 else { return false }
                bytes.append(contentsOf: UnsafeBufferPointer(rebasing: packed[..<count]))
                return true
            }
        }
    }

    /// The text of a packed id.
    static func uuid(_ bytes: UnsafeRawBufferPointer) -> String {
        HexText.lowerCase(bytes, hyphensBefore: bytes.count == 16 ? [4, 6, 8, 10] : [])
    }

    /// The text of a packed digest.
    static func digest(_ bytes: UnsafeRawBufferPointer) -> String { HexText.lowerCase(bytes) }

    private static let hyphen = UInt8(ascii: "-")

    // MARK: Times

    /// Whether `time` gives this text.
    static func isUsual(_ text: UnsafeBufferPointer<UInt8>, _ microseconds: Int64) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: RFC3339.longestText) { buffer in
            let count = RFC3339.write(microseconds: microseconds, to: buffer)
            return count == text.count && buffer[..<count].elementsEqual(text)
        }
    }

    /// The text of a time as the server writes it: UTC, without trailing zeros in the fraction (photosync contract
    /// section 0). Empty beyond the years 0 to 9999.
    static func time(_ microseconds: Int64) -> String { RFC3339.text(microseconds: microseconds) ?? "" }
}
