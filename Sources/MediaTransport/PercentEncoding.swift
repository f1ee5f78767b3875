/// Percent-encoding of what goes into an address (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// A text in which every byte but the unreserved characters is encoded: right for one path segment, and for a name or
    /// a value of a query.
    package static func encode(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = Array("0123456789ABCDEF")
                encoded += "%\(digits[Int(byte >> 4)])\(digits[Int(byte & 15)])"
            }
        }
        return encoded
    }

    /// A text with each `%XX` decoded; what is not such a triplet stays.
    package static func decode(_ text: String) -> String {
        var decoded: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.first {
            let digits = rest.dropFirst().prefix(2)
            if byte == UInt8(ascii: "%"), digits.count == 2,
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            {
                decoded.append(value)
                rest = rest.dropFirst(3)
            } else {
                decoded.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: decoded, as: UTF8.self)
    }
}
