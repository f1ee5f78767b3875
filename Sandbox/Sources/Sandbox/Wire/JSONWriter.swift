/// Writes JSON. How a text and a fraction are spelled differs from library to library; the rest is the same for all.
struct JSONWriter {
    /// Appends a text in quotes.
    let quote: (String, inout String) -> Void
    var decimal: (Double) -> String = { ShortestDecimal($0).ecmaScriptText }
    /// Four spaces an indentation level; no white space otherwise.
    var isPretty = false

    func text(of value: JSONValue) -> String {
        var text = ""
        append(value, depth: 0, to: &text)
        return text
    }

    private func append(_ value: JSONValue, depth: Int, to text: inout String) {
        switch value {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .int(let number): text += String(number)
        case .decimal(let number): text += decimal(number)
        case .string(let string): quote(string, &text)
        case .array(let elements):
            appendList(elements, between: "[", "]", depth: depth, to: &text) { element, text in
                append(element, depth: depth + 1, to: &text)
            }
        case .object(let object):
            appendList(object.members, between: "{", "}", depth: depth, to: &text) { member, text in
                quote(member.key, &text)
                text += isPretty ? ": " : ":"
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
            if isPretty { text += "\n" + indentation(depth + 1) }
            appendElement(element, &text)
        }
        if isPretty, !elements.isEmpty { text += "\n" + indentation(depth) }
        text += close
    }

    private func indentation(_ depth: Int) -> String {
        String(repeating: "    ", count: depth)
    }

    // MARK: Texts

    /// Appends a text in quotes. What every library escapes in two characters is escaped so; of the rest `escape` decides,
    /// which gives nil for what stands for itself.
    static func quote(_ string: String, to text: inout String, _ escape: (Unicode.Scalar) -> String?) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{8}": text += "\\b"
            case "\u{c}": text += "\\f"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            default:
                if let escaped = escape(scalar) { text += escaped } else { text.unicodeScalars.append(scalar) }
            }
        }
        text += "\""
    }

    /// `\uXXXX`.
    static func escaped(_ unit: UInt32) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

/// Writes JSON the way PHP's `json_encode` does: slashes escaped, everything outside ASCII as `\uXXXX`.
struct PHPJSONEncoder {
    /// Four spaces an indentation level, as `JSON_PRETTY_PRINT`.
    var pretty = false

    func encode(_ value: JSONValue) -> String {
        JSONWriter(quote: Self.quote, isPretty: pretty).text(of: value)
    }

    private static func quote(_ string: String, to text: inout String) {
        JSONWriter.quote(string, to: &text) { scalar in
            switch scalar {
            case "/": "\\/"
            case " "..."\u{7f}": nil
            default: String(scalar).utf16.map { JSONWriter.escaped(UInt32($0)) }.joined()
            }
        }
    }
}
