/// Any JSON value (RFC 8259). Read without trusting types: the accessors give nil where a server sent something else.
package enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The object that a text consists of; nil when it is anything else or broken.
    package static func object(in text: ArraySlice<UInt8>) -> [String: JSONValue]? {
        guard case .object(let members)? = JSONReader.value(of: text) else { return nil }
        return members
    }

    /// The text of a string.
    package var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// A whole number, also when it came as a string of digits or as `18.0`.
    package var wholeNumber: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        case .string(let text): text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
        default: nil
        }
    }

    /// Members of an object.
    package var members: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// Elements of an array; empty for anything else.
    package var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }
}
