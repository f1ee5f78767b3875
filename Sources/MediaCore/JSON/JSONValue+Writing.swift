extension JSONValue {
    /// The value as JSON (RFC 8259) for files that people may open too: two blanks a level, members sorted by name.
    package var indented: String { text(indent: "") }

    private func text(indent: String) -> String {
        switch self {
        case .null: "null"
        case .bool(let flag): flag ? "true" : "false"
        case .integer(let number): String(number)
        // JSON has no word for the others.
        case .double(let number): number.isFinite ? String(number) : "null"
        case .string(let text): JSONText.quoted(text)
        case .array(let elements):
            Self.block("[", elements.map { $0.text(indent: indent + "  ") }, "]", indent)
        case .object(let members):
            Self.block(
                "{",
                members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                    .map { "\(JSONText.quoted($0.key)): \($0.value.text(indent: indent + "  "))" },
                "}",
                indent
            )
        }
    }

    private static func block(_ open: String, _ lines: [String], _ close: String, _ indent: String) -> String {
        if lines.isEmpty { return open + close }
        return "\(open)\n\(lines.map { "\(indent)  \($0)" }.joined(separator: ",\n"))\n\(indent)\(close)"
    }
}
