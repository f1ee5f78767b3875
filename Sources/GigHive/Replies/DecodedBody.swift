/// The texts that the bytes of a response contain: decompressed, in UTF-8, and out of Base64.
///
/// Everything is recognized by the bytes themselves: headers may be missing or wrong, and a response that a stopped run
/// left has none.
struct DecodedBody {
    /// The texts; each is the content of the one before it.
    private(set) var texts: [[UInt8]] = []
    /// Whether the innermost bytes are text. Otherwise nothing is known about the content.
    private(set) var isText = true

    /// More layers than this are an attack.
    private static let deepest = 4

    init(_ body: [UInt8]) {
        var layer = body
        for _ in 0..<Self.deepest {
            if let wide = WideText.decoding(layer) {
                layer = wide
                continue
            }
            let hasNoControls = Self.isText(layer)
            // A short compressed response may have no control characters, but it is hardly ever UTF-8.
            if !hasNoControls || String(validating: layer, as: UTF8.self) == nil,
                let inflation = Inflation.decoding(layer[...]),
                hasNoControls ? inflation.end == .complete : inflation.end != .invalid
            {
                layer = inflation.bytes
                continue
            }
            guard hasNoControls else {
                texts.append(layer)
                isText = false
                return
            }
            texts.append(layer)
            guard let content = Base64.decoding(layer[...]) else { return }
            layer = content
        }
        texts.append(layer)
        isText = false
    }

    /// Whether bytes are text in an encoding that contains ASCII: nearly no control characters.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        let controls = bytes.count { byte in
            byte == 0x7f || (byte < 0x20 && !(0x09...0x0d).contains(byte) && byte != 0x1b)
        }
        return controls * 100 <= bytes.count
    }
}

/// Text in UTF-16 and UTF-32, with a byte order mark or without.
private enum WideText {
    private struct Form {
        var unit: Int
        var isBigEndian: Bool
        var mark: [UInt8]
    }

    /// The longer marks first: one of UTF-32 begins with one of UTF-16.
    private static let forms = [
        Form(unit: 4, isBigEndian: false, mark: [0xff, 0xfe, 0, 0]),
        Form(unit: 4, isBigEndian: true, mark: [0, 0, 0xfe, 0xff]),
        Form(unit: 2, isBigEndian: false, mark: [0xff, 0xfe]),
        Form(unit: 2, isBigEndian: true, mark: [0xfe, 0xff]),
    ]

    /// The text in UTF-8; nil if the bytes are not wide text.
    static func decoding(_ bytes: [UInt8]) -> [UInt8]? {
        if let marked = forms.first(where: { bytes.starts(with: $0.mark) }) {
            return decode(bytes.dropFirst(marked.mark.count), marked)
        }
        return forms.first { isLikely(bytes, $0) }.flatMap { decode(bytes[...], $0) }
    }

    /// Whether nearly all units are characters of ASCII.
    private static func isLikely(_ bytes: [UInt8], _ form: Form) -> Bool {
        let sample = bytes.prefix(1024)
        let count = sample.count / form.unit
        guard count >= 8 else { return false }
        let matches = (0..<count).count { index in
            let unit = sample[index * form.unit..<(index + 1) * form.unit]
            let digits = form.isBigEndian ? Array(unit) : unit.reversed()
            return digits.dropLast().allSatisfy { $0 == 0 } && digits[form.unit - 1] != 0
        }
        return matches * 10 >= count * 9
    }

    private static func decode(_ bytes: ArraySlice<UInt8>, _ form: Form) -> [UInt8] {
        // A file of a stopped run may lack the zeros of its last character.
        let missing = (form.unit - bytes.count % form.unit) % form.unit
        let padded = Array(bytes) + Array(repeating: 0, count: missing)
        let units = stride(from: 0, to: padded.count, by: form.unit).map { start -> UInt32 in
            let unit = padded[start..<start + form.unit]
            return (form.isBigEndian ? Array(unit) : unit.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
        }
        if form.unit == 2 {
            return Array(String(decoding: units.map { UInt16(truncatingIfNeeded: $0) }, as: UTF16.self).utf8)
        }
        return Array(String(decoding: units, as: UTF32.self).utf8)
    }
}

/// Base64 (RFC 4648), both alphabets, with line breaks and without padding.
enum Base64 {
    /// The content of a text that is Base64 throughout, also in quotes or behind `base64,`; nil for any other text.
    static func decoding(_ text: ArraySlice<UInt8>) -> [UInt8]? {
        var rest = text
        if let label = ReplyText.range(of: "base64,", in: text.prefix(128)) { rest = text[label.upperBound...] }
        var content: [UInt8] = []
        content.reserveCapacity(rest.count / 4 * 3)
        var buffer: UInt32 = 0
        var count = 0
        for byte in rest where !isIgnored(byte) {
            guard let digit = digit(byte) else { return nil }
            buffer = buffer << 6 | digit
            count += 1
            if count % 4 == 0 {
                content += [UInt8(buffer >> 16 & 0xff), UInt8(buffer >> 8 & 0xff), UInt8(buffer & 0xff)]
                buffer = 0
            }
        }
        // Anything shorter, such as one word, is not an encoded response.
        guard count >= 24 else { return nil }
        if count % 4 == 2 { content.append(UInt8(buffer >> 4 & 0xff)) }
        if count % 4 == 3 { content += [UInt8(buffer >> 10 & 0xff), UInt8(buffer >> 2 & 0xff)] }
        return isContent(content) ? content : nil
    }

    /// Whether decoded bytes are something that a server encodes: JSON, XML, a form, or compressed data. A token alone is
    /// made of the same characters as Base64.
    private static func isContent(_ bytes: [UInt8]) -> Bool {
        if bytes.allSatisfy({ $0 >= 0x20 || (0x09...0x0d).contains($0) }) {
            return String(validating: bytes, as: UTF8.self) != nil
        }
        return (bytes.first == 0x1f || bytes.first == 0x78) && Inflation.decoding(bytes[...])?.end == .complete
    }

    /// Line breaks and padding. A blank is between words, not in Base64.
    private static func isIgnored(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "=") || byte == UInt8(ascii: "\"")
    }

    private static func digit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5a: UInt32(byte) - 0x41
        case 0x61...0x7a: UInt32(byte) - 0x61 + 26
        case 0x30...0x39: UInt32(byte) - 0x30 + 52
        case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
        default: nil
        }
    }
}
