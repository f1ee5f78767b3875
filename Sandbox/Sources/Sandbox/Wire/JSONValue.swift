/// A JSON value. Objects keep the order of members, and duplicates. Numbers keep their spelling: `2.0` is not an
/// integer for the real servers.
enum JSONValue: Sendable, Equatable {
    struct Member: Sendable, Equatable {
        var key: String
        var value: JSONValue
    }

    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    init(_ value: Int?) { self = value.map(JSONValue.int) ?? .null }

    init(_ value: String?) { self = value.map(JSONValue.string) ?? .null }

    static func int(_ number: Int) -> JSONValue { .number(String(number)) }

    /// With a fraction or an exponent, as the capture server writes it (hash-only contract 2.1).
    static func decimal(_ number: Double) -> JSONValue { .number(ShortestDecimal(number).serdeText) }

    /// The first value of a key. A new key is appended, and nil removes one.
    subscript(key: String) -> JSONValue? {
        get { members?.first { $0.key == key }?.value }
        set {
            guard var members else { return }
            let index = members.firstIndex { $0.key == key }
            switch (index, newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(key: key, value: value))
            case (nil, nil): return
            }
            self = .object(members)
        }
    }

    var members: [Member]? { if case .object(let members) = self { members } else { nil } }

    var string: String? { if case .string(let text) = self { text } else { nil } }

    // MARK: Text

    /// The JSON text, without whitespace or optional escapes.
    var text: String {
        var text = ""
        append(to: &text)
        return text
    }

    /// Appends to one string, because a page of photos has thousands of values.
    private func append(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let flag): text += flag ? "true" : "false"
        case .number(let number): text += number
        case .string(let string): Self.quote(string, to: &text)
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                element.append(to: &text)
            }
            text += "]"
        case .object(let members):
            text += "{"
            for (index, member) in members.enumerated() {
                if index > 0 { text += "," }
                Self.quote(member.key, to: &text)
                text += ":"
                member.value.append(to: &text)
            }
            text += "}"
        }
    }

    /// This is also the form that RFC 8785 section 3.2.2.2 requires.
    private static func quote(_ string: String, to text: inout String) {
        guard string.utf8.contains(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C }) else {
            text += "\"" + string + "\""
            return
        }
        let short: [Unicode.Scalar: String] = [
            "\"": "\\\"", "\\": "\\\\", "\u{8}": "\\b", "\u{c}": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
        ]
        text += "\""
        for scalar in string.unicodeScalars {
            text += short[scalar] ?? (scalar < " " ? "\\u00" + hexString([UInt8(scalar.value)]) : String(scalar))
        }
        text += "\""
    }

    /// Canonical JSON (RFC 8785) of any members. Throws ``UnreadableJSON`` for duplicate members and for numbers beyond binary64,
    /// which have no canonical form (RFC 7493).
    func canonical() throws(UnreadableJSON) -> JSONValue {
        switch self {
        case .null, .bool, .string: return self
        case .number(let text):
            guard let number = Double(text), number.isFinite else { throw UnreadableJSON() }
            return .number(ShortestDecimal(number).ecmaScriptText)
        case .array(let elements):
            return .array(try elements.map { element throws(UnreadableJSON) in try element.canonical() })
        case .object(let members):
            guard Set(members.map { Array($0.key.utf8) }).count == members.count else { throw UnreadableJSON() }
            // By UTF-16 code units, not by code points.
            let sorted = members.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
            return .object(
                try sorted.map { member throws(UnreadableJSON) in
                    Member(key: member.key, value: try member.value.canonical())
                }
            )
        }
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
        self = .object(elements.map { Member(key: $0.0, value: $0.1) })
    }
}

extension JSONValue: Codable {
    init(from decoder: any Decoder) throws {
        self = try JSONValue(Array(try decoder.singleValueContainer().decode(String.self).utf8))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

/// Not JSON, or not of the expected type.
struct UnreadableJSON: Error {}

extension JSONValue {
    /// Parses a whole text (RFC 8259).
    init(_ bytes: [UInt8]) throws(UnreadableJSON) {
        var reader = Reader(bytes: bytes)
        self = try reader.value()
        guard reader.isAtEnd else { throw UnreadableJSON() }
    }

    private struct Reader {
        private static let depthLimit = 1000

        let bytes: [UInt8]
        private var index = 0
        private var depth = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        var isAtEnd: Bool {
            mutating get {
                skipSpace()
                return index == bytes.count
            }
        }

        mutating func value() throws(UnreadableJSON) -> JSONValue {
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

        private mutating func object() throws(UnreadableJSON) -> [Member] {
            var members: [Member] = []
            index += 1
            if take("}") { return members }
            repeat {
                skipSpace()
                let key = try string()
                guard take(":") else { throw UnreadableJSON() }
                members.append(Member(key: key, value: try value()))
            } while take(",")
            guard take("}") else { throw UnreadableJSON() }
            return members
        }

        private mutating func array() throws(UnreadableJSON) -> [JSONValue] {
            var elements: [JSONValue] = []
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
                if byte == UInt8(ascii: "\\") { units += Array(String(try escaped()).utf8) } else { units.append(byte) }
            }
            guard take("\""), let text = String(validating: units, as: UTF8.self) else { throw UnreadableJSON() }
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

        /// Lone surrogates are invalid.
        private mutating func codePoint() throws(UnreadableJSON) -> Unicode.Scalar {
            let first = try hexUnit()
            if let scalar = Unicode.Scalar(first) { return scalar }
            guard first < 0xDC00, bytes[index...].starts(with: Array("\\u".utf8)) else { throw UnreadableJSON() }
            index += 2
            let second = try hexUnit()
            guard (0xDC00..<0xE000).contains(second),
                let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
            else { throw UnreadableJSON() }
            return scalar
        }

        private mutating func hexUnit() throws(UnreadableJSON) -> UInt32 {
            guard index + 4 <= bytes.count,
                let unit = UInt32(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
            else { throw UnreadableJSON() }
            index += 4
            return unit
        }

        private mutating func word() throws(UnreadableJSON) -> JSONValue {
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
}
