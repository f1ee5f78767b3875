/// A JSON value whose objects keep the order of their keys, so that every record has the documented shape.
enum JSONValue: Sendable, Equatable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral
{
    case null
    case bool(Bool)
    case integer(Int64)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
    /// JSON that is there already, with its own spelling of numbers.
    case verbatim(String)

    init(stringLiteral value: String) { self = .string(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(integerLiteral value: Int64) { self = .integer(value) }

    init(_ value: String?) { self = value.map(JSONValue.string) ?? .null }
    init(_ value: Bool?) { self = value.map(JSONValue.bool) ?? .null }
    init(_ value: Int64?) { self = value.map(JSONValue.integer) ?? .null }
    init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }

    /// Compact JSON (RFC 8259) without a line break in it.
    var text: String {
        var text = ""
        append(to: &text)
        return text
    }

    private func append(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .integer(let value): text += String(value)
        case .string(let value): Self.appendQuoted(value, to: &text)
        case .verbatim(let json): text += Self.tamed(json)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                text += index == 0 ? "" : ","
                value.append(to: &text)
            }
            text += "]"
        case .object(let object):
            text += "{"
            for (index, member) in object.members.enumerated() {
                text += index == 0 ? "" : ","
                Self.appendQuoted(member.name, to: &text)
                text += ":"
                member.value.append(to: &text)
            }
            text += "}"
        }
    }

    /// Control characters of both sets and line separators are escaped, so that a record shown on a terminal cannot
    /// steer it.
    private static func appendQuoted(_ value: String, to text: inout String) {
        text += "\""
        if value.utf8.allSatisfy(isPlain) {
            text += value
        } else {
            appendEscaped(value, to: &text)
        }
        text += "\""
    }

    /// Whether a byte of UTF-8 stands for itself, and needs no look at the scalar it belongs to.
    private static func isPlain(_ byte: UInt8) -> Bool {
        0x20 <= byte && byte <= 0x7E && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }

    /// JSON on one line in which nothing can steer a terminal: below U+0020 only its blanks can be, and what else may do
    /// harm can only stand in its strings, where an escape means the same.
    static func tamed(_ json: String) -> String {
        guard !json.utf8.allSatisfy({ 0x20 <= $0 && $0 <= 0x7E }) else { return json }
        var text = ""
        for scalar in json.unicodeScalars {
            if scalar.value < 0x20 {
                text += " "
            } else if isHarmful(scalar) {
                appendCode(of: scalar, to: &text)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private static func appendEscaped(_ value: String, to text: inout String) {
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where isHarmful(scalar): appendCode(of: scalar, to: &text)
            default: text.unicodeScalars.append(scalar)
            }
        }
    }

    /// Control characters of both sets, line separators, and what changes the direction of text.
    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{0}"..."\u{1f}", "\u{7f}"..."\u{9f}", "\u{2028}", "\u{2029}", "\u{202a}"..."\u{202e}",
            "\u{2066}"..."\u{2069}":
            true
        default: false
        }
    }

    private static func appendCode(of scalar: Unicode.Scalar, to text: inout String) {
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

/// The members of a JSON object in order.
struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    struct Member: Sendable, Equatable {
        var name: String
        var value: JSONValue
    }

    var members: [Member]

    init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = elements.map { Member(name: $0.0, value: $0.1) }
    }

    /// The same with other values for some members; names that are not here are ignored.
    func replacing(_ values: JSONObject) -> JSONObject {
        var object = self
        for index in object.members.indices {
            guard let value = values.members.first(where: { $0.name == members[index].name })?.value else { continue }
            object.members[index].value = value
        }
        return object
    }

    /// The members of both, in order.
    static func + (left: JSONObject, right: JSONObject) -> JSONObject {
        var sum = left
        sum.members += right.members
        return sum
    }
}
