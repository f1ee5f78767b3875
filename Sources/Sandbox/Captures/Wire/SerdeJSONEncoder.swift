/// Writes JSON the way the real capture server's library does: compact, raw UTF-8, no escaped slashes, only what must be
/// escaped is (contract 2.1).
enum SerdeJSONEncoder {
    static func encode(_ value: JSONValue) -> String {
        var text = ""
        append(value, to: &text)
        return text
    }

    private static func append(_ value: JSONValue, to text: inout String) {
        switch value {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .int(let number): text += String(number)
        case .decimal(let number): text += ShortestDecimal(number).serdeText
        case .string(let string): text += quoted(string)
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
                text += quoted(member.key) + ":"
                append(member.value, to: &text)
            }
            text += "}"
        }
    }

    /// In quotes; RFC 8785 section 3.2.2.2 wants the same.
    static func quoted(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{8}": text += "\\b"
            case "\u{c}": text += "\\f"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1f}": text += "\\u00" + hexString([UInt8(scalar.value)])
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
