/// A syntax of character escapes.
package enum TextEscape: Sendable {
    /// `%2F` (RFC 3986 section 2.1).
    case percent
    /// `\"`, `\n`, `\u00e9`, and pairs of surrogates (RFC 8259 section 7).
    case json
    /// `&amp;`, `&#039;`, `&#x27;`: as written by PHP's `htmlspecialchars`, and numeric references.
    case html

    /// Decodes the escape at the beginning of a text: the decoded bytes, and the length of the escape in bytes; nil if
    /// there is none.
    package func first(in text: ArraySlice<UInt8>) -> (bytes: [UInt8], length: Int)? {
        switch self {
        case .percent: Self.percent(text)
        case .json: Self.json(text)
        case .html: Self.html(text)
        }
    }

    /// Decodes each escape; anything else is unchanged.
    package func decode(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(text.count)
        var rest = text
        while let start = rest.firstIndex(of: mark) {
            decoded += rest[..<start]
            let escape = first(in: rest[start...])
            decoded += escape?.bytes ?? [mark]
            rest = rest[(start + (escape?.length ?? 1))...]
        }
        return decoded + rest
    }

    /// The first byte of each escape.
    package var mark: UInt8 {
        switch self {
        case .percent: UInt8(ascii: "%")
        case .json: UInt8(ascii: "\\")
        case .html: UInt8(ascii: "&")
        }
    }

    private static func percent(_ text: ArraySlice<UInt8>) -> (bytes: [UInt8], length: Int)? {
        guard text.first == UInt8(ascii: "%"), let value = HexText.number(text.dropFirst().prefix(2), count: 2) else {
            return nil
        }
        return ([UInt8(truncatingIfNeeded: value)], 3)
    }

    private static func json(_ text: ArraySlice<UInt8>) -> (bytes: [UInt8], length: Int)? {
        guard text.first == UInt8(ascii: "\\"), let kind = text.dropFirst().first else { return nil }
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return ([kind], 2)
        case UInt8(ascii: "b"): return ([0x08], 2)
        case UInt8(ascii: "f"): return ([0x0c], 2)
        case UInt8(ascii: "n"): return ([0x0a], 2)
        case UInt8(ascii: "r"): return ([0x0d], 2)
        case UInt8(ascii: "t"): return ([0x09], 2)
        case UInt8(ascii: "u"):
            guard let first = HexText.number(text.dropFirst(2).prefix(4), count: 4) else { return nil }
            let rest = text.dropFirst(6)
            guard (0xd800..<0xdc00).contains(first) else { return utf8(first, 6) }
            guard rest.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]),
                let second = HexText.number(rest.dropFirst(2).prefix(4), count: 4), (0xdc00..<0xe000).contains(second)
            else { return nil }
            return utf8(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00), 12)
        default: return nil
        }
    }

    private static func html(_ text: ArraySlice<UInt8>) -> (bytes: [UInt8], length: Int)? {
        guard text.first == UInt8(ascii: "&"), let end = text.prefix(12).firstIndex(of: UInt8(ascii: ";")) else {
            return nil
        }
        let name = String(decoding: text[(text.startIndex + 1)..<end], as: UTF8.self)
        let length = end - text.startIndex + 1
        switch name {
        case "quot": return ([UInt8(ascii: "\"")], length)
        case "amp": return ([UInt8(ascii: "&")], length)
        case "apos": return ([UInt8(ascii: "'")], length)
        case "lt": return ([UInt8(ascii: "<")], length)
        case "gt": return ([UInt8(ascii: ">")], length)
        case _ where name.hasPrefix("#x") || name.hasPrefix("#X"):
            return UInt32(name.dropFirst(2), radix: 16).flatMap { utf8($0, length) }
        case _ where name.hasPrefix("#"): return UInt32(name.dropFirst()).flatMap { utf8($0, length) }
        default: return nil
        }
    }

    private static func utf8(_ scalar: UInt32, _ length: Int) -> (bytes: [UInt8], length: Int)? {
        Unicode.Scalar(scalar).map { (Array(String(Character($0)).utf8), length) }
    }
}
