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
        values.withUnsafeBufferPointer { values in
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
        hexadecimal(bytes, hyphens: bytes.count == 16 ? [4, 6, 8, 10] : [])
    }

    /// The text of a packed digest.
    static func digest(_ bytes: UnsafeRawBufferPointer) -> String { hexadecimal(bytes, hyphens: []) }

    private static func hexadecimal(_ bytes: UnsafeRawBufferPointer, hyphens: [Int]) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2 + hyphens.count) { buffer in
            var end = 0
            for (place, byte) in bytes.enumerated() {
                if hyphens.contains(place) {
                    buffer[end] = hyphen
                    end += 1
                }
                buffer[end] = digits[Int(byte >> 4)]
                buffer[end + 1] = digits[Int(byte & 15)]
                end += 2
            }
            return end
        }
    }

    private static let hyphen = UInt8(ascii: "-")
    private static let digits = Array("0123456789abcdef".utf8)
    /// The value of each digit; 255 for what is none.
    private static let values: [UInt8] = (0...255).map { byte in
        digits.firstIndex(of: UInt8(byte)).map { UInt8($0) } ?? 255
    }

    // MARK: Times

    /// Whether `time` gives this text.
    static func isUsual(_ text: UnsafeBufferPointer<UInt8>, _ microseconds: Int64) -> Bool {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: longestTime) { buffer in
            let count = write(microseconds, to: buffer)
            return count == text.count && buffer[..<count].elementsEqual(text)
        }
    }

    /// The text of a time as the server writes it: UTC, without trailing zeros in the fraction (photosync contract
    /// section 0). Empty beyond the years 0 to 9999.
    static func time(_ microseconds: Int64) -> String {
        String(unsafeUninitializedCapacity: longestTime) { write(microseconds, to: $0) }
    }

    private static let longestTime = 27

    /// `YYYY-MM-DDThh:mm:ss[.ffffff]Z`; the calendar is Howard Hinnant's `civil_from_days`.
    private static func write(_ microseconds: Int64, to buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let (seconds, fraction) = divide(microseconds, 1_000_000)
        let (days, second) = divide(seconds, 86_400)
        let shifted = days + 719_468
        let (era, dayOfEra) = divide(shifted, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let fromMarch = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * fromMarch + 2) / 5 + 1
        let month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        guard (0...9999).contains(year) else { return 0 }
        var end = 0
        func put(_ value: Int64, _ count: Int, _ mark: Unicode.Scalar) {
            var rest = value
            for place in (end..<end + count).reversed() {
                buffer[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            }
            buffer[end + count] = UInt8(truncatingIfNeeded: mark.value)
            end += count + 1
        }
        put(year, 4, "-")
        put(month, 2, "-")
        put(day, 2, "T")
        put(second / 3600, 2, ":")
        put(second / 60 % 60, 2, ":")
        put(second % 60, 2, fraction == 0 ? "Z" : ".")
        guard fraction != 0 else { return end }
        var (digits, count) = (fraction, 6)
        while digits % 10 == 0 { (digits, count) = (digits / 10, count - 1) }
        put(digits, count, "Z")
        return end
    }

    /// Quotient and remainder, rounded down also below zero.
    private static func divide(_ value: Int64, _ divisor: Int64) -> (Int64, Int64) {
        let (quotient, remainder) = value.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
