/// Writes the strings of JSON (RFC 8259).
package enum JSONText {
    /// A string with its quotes, escaped as little as possible (RFC 8785 section 3.2.2.2). `isForTerminals` also
    /// escapes characters that could control a terminal or reorder a line.
    package static func quoted(_ text: String, isForTerminals: Bool = false) -> String {
        var json = ""
        append(text, isForTerminals: isForTerminals, to: &json)
        return json
    }

    /// Appends the UTF-8 of `quoted`.
    package static func append(_ text: String, to json: inout [UInt8]) {
        guard isPlain(text) else { return json += quoted(text).utf8 }
        json.append(UInt8(ascii: "\""))
        json += text.utf8
        json.append(UInt8(ascii: "\""))
    }

    /// Whether nothing in a text is escaped.
    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { 0x20 <= $0 && $0 <= 0x7E && $0 != 0x22 && $0 != 0x5C }
    }

    /// Appends the result of `quoted`.
    package static func append(_ text: String, isForTerminals: Bool, to json: inout String) {
        json += "\""
        if isPlain(text) {
            json += text
        } else {
            for scalar in text.unicodeScalars { append(scalar, isForTerminals: isForTerminals, to: &json) }
        }
        json += "\""
    }

    /// One line of JSON without characters that could control a terminal: those below U+0020 are whitespace between
    /// values, and any other is part of a string, in which an escape is equivalent.
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

    private static func append(_ scalar: Unicode.Scalar, isForTerminals: Bool, to json: inout String) {
        switch scalar {
        case "\"": json += "\\\""
        case "\\": json += "\\\\"
        case "\u{8}": json += "\\b"
        case "\t": json += "\\t"
        case "\n": json += "\\n"
        case "\u{c}": json += "\\f"
        case "\r": json += "\\r"
        case _ where scalar.value < 0x20 || isForTerminals && TerminalText.isDangerous(scalar): json += escape(scalar)
        default: json.unicodeScalars.append(scalar)
        }
    }

    /// Every dangerous character is in the Basic Multilingual Plane.
    private static func escape(_ scalar: Unicode.Scalar) -> String { "\\u" + scalar.value.padded(4, radix: 16) }
}
