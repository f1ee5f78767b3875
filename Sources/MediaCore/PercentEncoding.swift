/// Percent-encoding of parts of an address (RFC 3986 section 2.1).
package enum PercentEncoding {
    /// Encodes every byte except the unreserved characters, for a path segment or for a name or value in a query.
    package static func encode(_ text: String) -> String { encode(text.utf8, keeping: []) }

    /// Encodes every byte but the unreserved characters and `/`.
    package static func encode(path: String) -> String { encode(path: Array(path.utf8)) }

    /// Encodes every byte of a path but the unreserved characters and `/`. The path may contain any bytes.
    package static func encode(path: [UInt8]) -> String { encode(path, keeping: [UInt8(ascii: "/")]) }

    private static func encode(_ bytes: some Sequence<UInt8>, keeping kept: [UInt8]) -> String {
        var encoded: [UInt8] = []
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.append(byte)
            case _ where kept.contains(byte): encoded.append(byte)
            default: encoded += triplet(byte)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// `%` and two uppercase hexadecimal digits.
    package static func triplet(_ byte: UInt8) -> [UInt8] {
        [UInt8(ascii: "%")] + HexText.lowerCase([byte]).uppercased().utf8
    }

    /// Decodes each `%XX`; anything else is unchanged.
    package static func decode(_ text: String) -> String {
        String(decoding: TextEscape.percent.decode(Array(text.utf8)[...]), as: UTF8.self)
    }
}
