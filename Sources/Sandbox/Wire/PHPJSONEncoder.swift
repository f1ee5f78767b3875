/// Writes JSON the way PHP's `json_encode` does: slashes escaped, everything outside ASCII as `\uXXXX`.
struct PHPJSONEncoder {
    /// Four spaces an indentation level, as `JSON_PRETTY_PRINT`.
    var pretty = false

    func encode(_ value: JSONValue) -> String {
        var text = ""
        append(value, depth: 0, to: &text)
        return text
    }

    private func append(_ value: JSONValue, depth: Int, to text: inout String) {
        switch value {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .int(let number): text += String(number)
        case .decimal(let number): text += ShortestDecimal(number).ecmaScriptText
        case .string(let string): appendQuoted(string, to: &text)
        case .array(let elements):
            appendList(elements, between: "[", "]", depth: depth, to: &text) { element, text in
                append(element, depth: depth + 1, to: &text)
            }
        case .object(let object):
            appendList(object.members, between: "{", "}", depth: depth, to: &text) { member, text in
                appendQuoted(member.key, to: &text)
                text += pretty ? ": " : ":"
                append(member.value, depth: depth + 1, to: &text)
            }
        }
    }

    private func appendList<Element>(
        _ elements: [Element],
        between open: String,
        _ close: String,
        depth: Int,
        to text: inout String,
        _ appendElement: (Element, inout String) -> Void
    ) {
        text += open
        for (index, element) in elements.enumerated() {
            if index > 0 { text += "," }
            if pretty { text += "\n" + indentation(depth + 1) }
            appendElement(element, &text)
        }
        if pretty, !elements.isEmpty { text += "\n" + indentation(depth) }
        text += close
    }

    private func indentation(_ depth: Int) -> String {
        String(repeating: "    ", count: depth)
    }

    private func appendQuoted(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "/": text += "\\/"
            case "\u{8}": text += "\\b"
            case "\u{c}": text += "\\f"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case " "..."\u{7f}": text.unicodeScalars.append(scalar)
            default:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
        text += "\""
    }
}
