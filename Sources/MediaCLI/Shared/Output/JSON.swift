internal import Foundation
internal import MediaCore

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
        case .string(let value): JSONText.append(value, isForTerminals: true, to: &text)
        case .verbatim(let json): text += JSONText.escapedForTerminals(json)
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
                JSONText.append(member.name, isForTerminals: true, to: &text)
                text += ":"
                member.value.append(to: &text)
            }
            text += "}"
        }
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

/// The members of every JSON record, in the order of `docs/json.md`. Absent values are null, so that keys are stable.
///
/// The records of a verb are in the file of its command; this is what several nouns share.
enum JSONRenderer {
    // MARK: Errors and ends

    /// Null without an error.
    static func error(_ error: (any Error)?) -> JSONValue {
        guard let error else { return .null }
        let diagnosis = ErrorCatalogue.diagnosis(of: error)
        return .object([
            "code": .string(diagnosis.code),
            "message": .string(([diagnosis.message] + diagnosis.details).joined(separator: "; ")),
            "http_status": JSONValue(diagnosis.httpStatus), "retryable": .bool(diagnosis.isRetryable),
            "hint": JSONValue(diagnosis.hint),
        ])
    }

    static func fatal(_ diagnosis: Diagnosis) -> JSONObject {
        ["error": error(diagnosis), "exit_code": exitCode(diagnosis.exitCode)]
    }

    static func exitCode(_ code: ExitCode) -> JSONValue { .integer(Int64(code.rawValue)) }

    // MARK: Values

    /// Null without a path. Bytes that are no UTF-8 are repaired; `pathBase64` has them.
    static func path(_ path: [UInt8]?) -> JSONValue { JSONValue(path.map { String(decoding: $0, as: UTF8.self) }) }

    /// The bytes of a path that is no UTF-8, which a text cannot say; else null.
    static func pathBase64(_ path: [UInt8]?) -> JSONValue {
        guard let path, String(validating: path, as: UTF8.self) == nil else { return .null }
        return .string(Data(path).base64EncodedString())
    }

    /// Null for a text with nothing in it.
    static func text(_ text: String?) -> JSONValue { JSONValue(text.flatMap { $0.isEmpty ? nil : $0 }) }

    /// Null without a time.
    static func time(_ time: Date?) -> JSONValue { JSONValue(time.map { Formats.timestamp($0) }) }
}
