/// Writes JSON strings (RFC 8259).
package enum JSONText {
    /// A string with its quotes, escaped as little as possible (RFC 8785 section 3.2.2.2). `isForTerminals` also
    /// escapes characters that could control a terminal or reorder a line.
    package static func quoted(_ text: String, isForTerminals: Bool = false) -> String {
        var json: [UInt8] = []
        append(text, isForTerminals: isForTerminals, to: &json)
        return String(decoding: json, as: UTF8.self)
    }

    /// Appends the result of `quoted` as UTF-8.
    package static func append(_ text: String, isForTerminals: Bool, to json: inout [UInt8]) {
        json.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { utf8 in
            if isPlain(utf8) {
                json += utf8
            } else {
                let scalars = String(decoding: utf8, as: UTF8.self).unicodeScalars
                for scalar in scalars { append(scalar, isForTerminals: isForTerminals, to: &json) }
            }
        }
        json.append(UInt8(ascii: "\""))
    }

    /// Whether all bytes are printable ASCII and none has to be escaped. Without an early exit, the loop compares many
    /// bytes at once.
    private static func isPlain(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool {
        var others: UInt8 = 0
        for byte in utf8 { others |= byte &- 0x20 > 0x7E - 0x20 || byte == 0x22 || byte == 0x5C ? 1 : 0 }
        return others == 0
    }

    /// One line of JSON without characters that could control a terminal: characters below U+0020 are whitespace
    /// between values, and any other dangerous character is part of a string, where an escape is equivalent.
    package static func escapedForTerminals(_ json: String) -> String {
        guard !json.utf8.allSatisfy({ 0x20 <= $0 && $0 <= 0x7E }) else { return json }
        var text = ""
        for scalar in json.unicodeScalars {
            if scalar.value < 0x20 {
                text += " "
            } else if TerminalText.isDangerous(scalar) {
                text += escape(scalar)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func append(_ scalar: Unicode.Scalar, isForTerminals: Bool, to json: inout [UInt8]) {
        switch scalar {
        case "\"": json.append(utf8: "\\\"")
        case "\\": json.append(utf8: "\\\\")
        case "\u{8}": json.append(utf8: "\\b")
        case "\t": json.append(utf8: "\\t")
        case "\n": json.append(utf8: "\\n")
        case "\u{c}": json.append(utf8: "\\f")
        case "\r": json.append(utf8: "\\r")
        case _ where scalar.value < 0x20 || isForTerminals && TerminalText.isDangerous(scalar):
            json.append(utf8: escape(scalar))
        default: json.append(utf8: String(scalar))
        }
    }

    /// Every dangerous character is in the Basic Multilingual Plane.
    private static func escape(_ scalar: Unicode.Scalar) -> String { "\\u" + scalar.value.padded(4, radix: 16) }
}

extension [UInt8] {
    /// Appends a text as UTF-8.
    package mutating func append(utf8 text: String) {
        var text = text
        text.withUTF8 { self += $0 }
    }
}
