extension JSONValue {
    /// Compact JSON (RFC 8259) without line breaks, members in order; `null` for a number that is not finite.
    /// `isForTerminals` also escapes characters that could control a terminal or reorder a line.
    package func json(isForTerminals: Bool = false) -> String {
        var text = ""
        append(to: &text, isForTerminals)
        return text
    }

    private func append(to text: inout String, _ isForTerminals: Bool) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .double(let value): text += value.isFinite ? String(value) : "null"
        case .string(let value): JSONText.append(value, isForTerminals: isForTerminals, to: &text)
        case .verbatim(let json): text += isForTerminals ? JSONText.escapedForTerminals(json) : json
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                text += index == 0 ? "" : ","
                value.append(to: &text, isForTerminals)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                text += index == 0 ? "" : ","
                JSONText.append(member.name, isForTerminals: isForTerminals, to: &text)
                text += ":"
                member.value.append(to: &text, isForTerminals)
            }
            text += "}"
        }
    }

    /// JSON for files that people may open: indented by two spaces, members sorted by name.
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
}
