/// A JSON value of a request. Numbers keep their spelling, because `2.0` is no integer for the real servers; objects keep
/// the order of their members and those that are there twice.
enum ReceivedJSON: Equatable {
    struct Member: Equatable {
        var key: String
        var value: ReceivedJSON
    }

    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([ReceivedJSON])
    case object([Member])

    /// The value at the beginning of a text; what follows is not looked at, and bytes that are no UTF-8 are replaced.
    init(beginningOf text: [UInt8]) throws(UnreadableJSON) {
        var reader = JSONTextReader(text, isStrict: false)
        self = try reader.value()
    }

    /// The value of a whole text, which must be JSON in every way (RFC 8259).
    init(_ text: [UInt8]) throws(UnreadableJSON) {
        var reader = JSONTextReader(text, isStrict: true)
        self = try reader.value()
        guard reader.isAtEnd else { throw UnreadableJSON() }
    }
}

/// The request is not what the handler decodes into: `Invalid request body`.
struct UnreadableJSON: Error {}

/// A parser of JSON (RFC 8259).
private struct JSONTextReader {
    /// Deeper nesting is refused, as the real servers refuse it sooner or later.
    private static let depthLimit = 1000

    private let bytes: [UInt8]
    private let isStrict: Bool
    private var index = 0
    private var depth = 0

    init(_ bytes: [UInt8], isStrict: Bool) {
        self.bytes = bytes
        self.isStrict = isStrict
    }

    var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return index == bytes.count
        }
    }

    mutating func value() throws(UnreadableJSON) -> ReceivedJSON {
        skipSpace()
        guard index < bytes.count, depth < Self.depthLimit else { throw UnreadableJSON() }
        depth += 1
        defer { depth -= 1 }
        switch bytes[index] {
        case UInt8(ascii: "{"): return .object(try object())
        case UInt8(ascii: "["): return .array(try array())
        case UInt8(ascii: "\""): return .string(try string())
        default: return try word()
        }
    }

    private mutating func object() throws(UnreadableJSON) -> [ReceivedJSON.Member] {
        var members: [ReceivedJSON.Member] = []
        index += 1
        if take("}") { return members }
        repeat {
            skipSpace()
            let key = try string()
            guard take(":") else { throw UnreadableJSON() }
            members.append(ReceivedJSON.Member(key: key, value: try value()))
        } while take(",")
        guard take("}") else { throw UnreadableJSON() }
        return members
    }

    private mutating func array() throws(UnreadableJSON) -> [ReceivedJSON] {
        var elements: [ReceivedJSON] = []
        index += 1
        if take("]") { return elements }
        repeat { elements.append(try value()) } while take(",")
        guard take("]") else { throw UnreadableJSON() }
        return elements
    }

    private mutating func string() throws(UnreadableJSON) -> String {
        guard take("\"") else { throw UnreadableJSON() }
        var units: [UInt8] = []
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") {
            let byte = bytes[index]
            guard byte >= 0x20 else { throw UnreadableJSON() }
            index += 1
            if byte == UInt8(ascii: "\\") {
                units += Array(String(try escaped()).utf8)
            } else {
                units.append(byte)
            }
        }
        guard take("\"") else { throw UnreadableJSON() }
        guard isStrict else { return String(decoding: units, as: UTF8.self) }
        guard let text = String(validating: units, as: UTF8.self) else { throw UnreadableJSON() }
        return text
    }

    private mutating func escaped() throws(UnreadableJSON) -> Unicode.Scalar {
        guard index < bytes.count else { throw UnreadableJSON() }
        index += 1
        switch bytes[index - 1] {
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): return try codePoint()
        case let byte where "\"\\/".utf8.contains(byte): return Unicode.Scalar(byte)
        default: throw UnreadableJSON()
        }
    }

    /// A half of a surrogate pair that stands alone becomes U+FFFD, or is an error.
    private mutating func codePoint() throws(UnreadableJSON) -> Unicode.Scalar {
        let first = try hexUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let mark = index
        guard (0xD800..<0xDC00).contains(first), bytes[index...].starts(with: Array("\\u".utf8)) else {
            return try loneSurrogate()
        }
        index += 2
        let second = try hexUnit()
        guard (0xDC00..<0xE000).contains(second) else {
            index = mark
            return try loneSurrogate()
        }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) ?? "\u{FFFD}"
    }

    private func loneSurrogate() throws(UnreadableJSON) -> Unicode.Scalar {
        if isStrict { throw UnreadableJSON() }
        return "\u{FFFD}"
    }

    private mutating func hexUnit() throws(UnreadableJSON) -> UInt32 {
        guard index + 4 <= bytes.count,
            let unit = UInt32(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
        else { throw UnreadableJSON() }
        index += 4
        return unit
    }

    private mutating func word() throws(UnreadableJSON) -> ReceivedJSON {
        let start = index
        while index < bytes.count, !" \t\r\n,:]}[{\"".utf8.contains(bytes[index]) { index += 1 }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        switch text {
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default:
            guard text.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/) != nil else {
                throw UnreadableJSON()
            }
            return .number(text)
        }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        skipSpace()
        guard index < bytes.count, Unicode.Scalar(bytes[index]) == character else { return false }
        index += 1
        return true
    }

    private mutating func skipSpace() {
        while index < bytes.count, " \t\r\n".utf8.contains(bytes[index]) { index += 1 }
    }
}

/// A JSON value whose objects keep the order of their keys, as PHP's arrays do.
enum JSONValue: Sendable, Equatable, Codable {
    case null
    case bool(Bool)
    case int(Int)
    /// Only the capture server answers with fractions.
    case decimal(Double)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    init(_ value: Int?) {
        self = value.map(JSONValue.int) ?? .null
    }

    init(_ value: String?) {
        self = value.map(JSONValue.string) ?? .null
    }
}

/// Ordered members of a JSON object.
struct JSONObject: Sendable, Equatable, Codable {
    struct Member: Sendable, Equatable, Codable {
        var key: String
        var value: JSONValue
    }

    var members: [Member]

    subscript(key: String) -> JSONValue? {
        get { members.first { $0.key == key }?.value }
        set {
            guard let index = members.firstIndex(where: { $0.key == key }) else {
                if let newValue { members.append(Member(key: key, value: newValue)) }
                return
            }
            if let newValue {
                members[index].value = newValue
            } else {
                members.remove(at: index)
            }
        }
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, JSONValue)...) {
        members = elements.map { Member(key: $0.0, value: $0.1) }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .string(value) }
    init(integerLiteral value: Int) { self = .int(value) }
    init(booleanLiteral value: Bool) { self = .bool(value) }
    init(nilLiteral: ()) { self = .null }
    init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(members: elements.map { JSONObject.Member(key: $0.0, value: $0.1) }))
    }
}
