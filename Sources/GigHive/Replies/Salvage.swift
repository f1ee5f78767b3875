internal import MediaCore
internal import MediaTransport

/// Digs single values out of an answer that is no whole JSON object: cut off, wrapped, or mixed with other text.
///
/// The delete token exists in exactly one answer (gighive contract 4.4), so a broken answer is searched before it is
/// given up. A value that may itself be cut is not taken.
enum Salvage {
    /// The 64 hexadecimal characters that follow a key.
    static func hex64(after key: StaticString, in text: ArraySlice<UInt8>) -> String? {
        firstValue(after: key, in: text) { rest in
            let digits = rest.prefix { HexText.isDigit($0) }
            // Fewer are a token that was cut, more are something else.
            return digits.count == 64 ? String(decoding: digits, as: UTF8.self) : nil
        }
    }

    /// The positive whole number that follows a key.
    static func identifier(after key: StaticString, in text: ArraySlice<UInt8>) -> Int64? {
        firstValue(after: key, in: text) { rest in
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            // A number at the very end may lack its last digits.
            guard digits.endIndex < rest.endIndex, let number = Int64(String(decoding: digits, as: UTF8.self)) else {
                return nil
            }
            return number > 0 ? number : nil
        }
    }

    /// The characters of the number that follows a key, as they are written.
    static func number(after key: StaticString, in text: ArraySlice<UInt8>) -> String? {
        firstValue(after: key, in: text) { rest in
            let number = rest.prefix { (0x30...0x39).contains($0) || [0x2b, 0x2d, 0x2e, 0x45, 0x65].contains($0) }
            guard number.contains(where: { (0x30...0x39).contains($0) }) else { return nil }
            return String(decoding: number, as: UTF8.self)
        }
    }

    /// `audio` or `video` after a key.
    static func mediaKind(after key: StaticString, in text: ArraySlice<UInt8>) -> String? {
        firstValue(after: key, in: text) { rest in
            ["audio", "video"].first { rest.starts(with: Array(($0 + "\"").utf8)) }
        }
    }

    private static func firstValue<Value>(
        after key: StaticString,
        in text: ArraySlice<UInt8>,
        _ read: (ArraySlice<UInt8>) -> Value?
    ) -> Value? {
        var rest = text
        while let found = ReplyText.range(of: key, in: rest) {
            rest = rest[found.upperBound...]
            let value = rest.drop { $0 == 0x22 || $0 == 0x3a || $0 == 0x20 || (0x09...0x0d).contains($0) }
            if value.startIndex > rest.startIndex, let result = read(value) {
                return result
            }
        }
        return nil
    }
}
