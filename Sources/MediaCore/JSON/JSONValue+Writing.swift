extension JSONValue {
    /// Compact JSON (RFC 8259) without line breaks, members in order; `null` for a number that is not finite.
    /// `isForTerminals` also escapes characters that could control a terminal or reorder a line.
    package func json(isForTerminals: Bool = false) -> String {
        var text: [UInt8] = []
        append(to: &text, isForTerminals: isForTerminals)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends `json` as UTF-8, which takes a fraction of the time.
    package func append(to text: inout [UInt8], isForTerminals: Bool) {
        switch self {
        case .null: text.append(utf8: "null")
        case .bool(let value): text.append(utf8: value ? "true" : "false")
        case .integer(let value): text.append(utf8: String(value))
        case .double(let value): text.append(utf8: value.isFinite ? String(value) : "null")
        case .string(let value): JSONText.append(value, isForTerminals: isForTerminals, to: &text)
        case .verbatim(let json): text.append(utf8: isForTerminals ? JSONText.escapedForTerminals(json) : json)
        case .array(let values):
            text.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { text.append(UInt8(ascii: ",")) }
                value.append(to: &text, isForTerminals: isForTerminals)
            }
            text.append(UInt8(ascii: "]"))
        case .object(let members): members.append(to: &text, isForTerminals: isForTerminals)
        }
    }

    /// JSON for files that users may open: indented by two spaces, members sorted by name.
    package var indented: String { indented(by: "") }

    private func indented(by indent: String) -> String {
        switch self {
        case .array(let elements):
            Self.block("[", elements.map { $0.indented(by: indent + "  ") }, "]", indent)
        case .object(let members):
            Self.block(
                "{",
                members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
                    .map { "\(JSONText.quoted($0.name)): \($0.value.indented(by: indent + "  "))" },
                "}",
                indent
            )
        default: json()
        }
    }

    private static func block(_ open: String, _ lines: [String], _ close: String, _ indent: String) -> String {
        if lines.isEmpty { return open + close }
        return "\(open)\n\(lines.map { "\(indent)  \($0)" }.joined(separator: ",\n"))\n\(indent)\(close)"
    }
}

extension JSONObject {
    package func json(isForTerminals: Bool = false) -> String {
        JSONValue.object(self).json(isForTerminals: isForTerminals)
    }

    /// Appends `json` as UTF-8, which takes a fraction of the time.
    package func append(to text: inout [UInt8], isForTerminals: Bool) {
        text.append(UInt8(ascii: "{"))
        for (index, member) in enumerated() {
            if index > 0 { text.append(UInt8(ascii: ",")) }
            JSONText.append(member.name, isForTerminals: isForTerminals, to: &text)
            text.append(UInt8(ascii: ":"))
            member.value.append(to: &text, isForTerminals: isForTerminals)
        }
        text.append(UInt8(ascii: "}"))
    }
}
