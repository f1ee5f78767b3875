internal import Foundation

/// A JSON value (RFC 8259), as read or as written.
///
/// The accessors are nil for a value of a different type.
package enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)
    /// JSON text with its own number format; only for writing.
    case verbatim(String)

    /// The object in a text; nil for any other value and for invalid JSON.
    package static func object(in text: ArraySlice<UInt8>) -> JSONObject? { JSONReader.value(of: text)?.members }

    package var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// A whole number, including one written as a string of digits or as `18.0`.
    package var wholeNumber: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        case .string(let text): text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
        default: nil
        }
    }

    package var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    package var flag: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    package var members: JSONObject? {
        if case .object(let members) = self { members } else { nil }
    }

    /// Empty for anything but an array.
    package var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }
}

/// The members of a JSON object, in order.
package struct JSONObject: Sendable, Equatable, ExpressibleByDictionaryLiteral, Sequence {
    package typealias Member = (name: String, value: JSONValue)

    private var members: [Member] = []

    package init(_ members: some Sequence<Member> = []) { self.members = Array(members) }

    package init(dictionaryLiteral elements: (String, JSONValue)...) { members = elements.map { ($0, $1) } }

    package var isEmpty: Bool { members.isEmpty }

    /// The value of a member; if several members have the same name, that of the last. Setting nil removes all of them.
    package subscript(name: String) -> JSONValue? {
        get { members.last { $0.name == name }?.value }
        set {
            guard let newValue else { return members.removeAll { $0.name == name } }
            guard let index = members.lastIndex(where: { $0.name == name }) else {
                return members.append((name, newValue))
            }
            members[index].value = newValue
        }
    }

    package func makeIterator() -> IndexingIterator<[Member]> { members.makeIterator() }

    /// This object with different values for some members; names that it does not have are ignored.
    package func replacing(_ values: JSONObject) -> JSONObject {
        JSONObject(members.map { ($0.name, values[$0.name] ?? $0.value) })
    }

    package static func + (left: JSONObject, right: JSONObject) -> JSONObject {
        JSONObject(left.members + right.members)
    }

    package static func == (left: JSONObject, right: JSONObject) -> Bool {
        left.members.elementsEqual(right.members, by: ==)
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByArrayLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int64) { self = .integer(value) }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    package init(_ value: String?) { self = value.map(JSONValue.string) ?? .null }
    package init(_ value: Bool?) { self = value.map(JSONValue.bool) ?? .null }
    package init(_ value: Int64?) { self = value.map(JSONValue.integer) ?? .null }
    package init(_ value: Int?) { self = value.map { .integer(Int64($0)) } ?? .null }
}

extension JSONValue {
    /// `null` if there is no path. Invalid UTF-8 is replaced; `pathBase64` has the original bytes.
    package static func path(_ path: [UInt8]?) -> JSONValue {
        JSONValue(path.map { String(decoding: $0, as: UTF8.self) })
    }

    /// The bytes of a path that is not UTF-8; otherwise null.
    package static func pathBase64(_ path: [UInt8]?) -> JSONValue {
        guard let path, String(validating: path, as: UTF8.self) == nil else { return .null }
        return .string(Data(path).base64EncodedString())
    }
}
