/// JSON of a request (RFC 8259), members in the order given.
enum JSONText {
    /// A member's value.
    enum Value {
        case string(String)
        case number(Int64)
        case bool(Bool)
    }

    /// An object. Names and values are escaped as needed.
    static func object(_ members: [(name: String, value: Value)]) -> String {
        let texts = members.map { member in
            let value =
                switch member.value {
                case .string(let text): quoted(text)
                case .number(let number): String(number)
                case .bool(let flag): flag ? "true" : "false"
                }
            return "\(quoted(member.name)):\(value)"
        }
        return "{\(texts.joined(separator: ","))}"
    }

    /// A string in quotation marks; control characters as `\u00XX`.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\u{0}"..<"\u{20}": quoted += "\\u" + String(0x10000 + scalar.value, radix: 16).dropFirst()
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
