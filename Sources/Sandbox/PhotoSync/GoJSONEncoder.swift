/// Writes JSON the way Go's `json.Encoder` does: no escaped slashes, raw UTF-8, `<`, `>` and `&` escaped, a line feed at
/// the end.
enum GoJSONEncoder {
    static func encode(_ value: JSONValue) -> String {
        var text = ""
        append(value, to: &text)
        text += "\n"
        return text
    }

    private static func append(_ value: JSONValue, to text: inout String) {
        switch value {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .int(let number): text += String(number)
        case .decimal(let number): text += ShortestDecimal(number).ecmaScriptText
        case .string(let string): appendQuoted(string, to: &text)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                append(element, to: &text)
            }
            text += "]"
        case .object(let object):
            text += "{"
            for (index, member) in object.members.enumerated() {
                if index > 0 { text += "," }
                appendQuoted(member.key, to: &text)
                text += ":"
                append(member.value, to: &text)
            }
            text += "}"
        }
    }

    private static func appendQuoted(_ string: String, to text: inout String) {
        text += "\""
        // A page has thousands of texts, and hardly one that needs more.
        if isPlain(string) {
            text += string + "\""
            return
        }
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{8}": text += "\\b"
            case "\u{c}": text += "\\f"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "<", ">", "&", "\u{2028}", "\u{2029}", "\u{0}"..."\u{1f}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }

    /// ASCII without anything to escape.
    private static func isPlain(_ string: String) -> Bool {
        var string = string
        return string.withUTF8 { bytes in
            bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"):
                    false
                default: (0x20..<0x7F).contains(byte)
                }
            }
        }
    }
}
