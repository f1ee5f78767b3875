/// JSON of a request (RFC 8259), members in the order given.
package enum JSONText {
    /// A member's value.
    package enum Value {
        case string(String)
        case number(Int64)
        case bool(Bool)
    }

    /// An object. Names and values are escaped as needed.
    package static func object(_ members: [(name: String, value: Value)]) -> String {
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

    /// An array of strings.
    package static func array(_ texts: some Sequence<String>) -> String {
        "[\(texts.map(quoted).joined(separator: ","))]"
    }

    /// A string with its quotes (RFC 8259 section 7).
    package static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\":
                quoted += "\\"
                quoted.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default:
                quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
