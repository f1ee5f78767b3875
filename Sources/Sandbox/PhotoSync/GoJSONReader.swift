/// A JSON value of a request; numbers keep their spelling, because `2.0` is no integer for Go.
enum GoJSON: Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([GoJSON])
    case object(GoFields)
}

/// The request is not what the handler decodes into: `Invalid request body`.
struct UnreadableJSON: Error {}

/// The members of a request's object, read with Go's leniency: unknown keys are ignored, the case of keys too, the last
/// of several wins, and `null` is as good as absent (photosync contract 0).
struct GoFields: Equatable {
    private var members: [String: GoJSON] = [:]

    /// Reads a body; `null` is an object without members, and what follows the value is not looked at.
    init(body: [UInt8]) throws(UnreadableJSON) {
        var reader = GoJSONReader(body)
        switch try reader.value() {
        case .object(let fields): self = fields
        case .null: break
        default: throw UnreadableJSON()
        }
    }

    fileprivate init(_ members: [(key: String, value: GoJSON)]) {
        for (key, value) in members { self.members[key.lowercased()] = value }
    }

    /// Nil when absent or `null`.
    private subscript(key: String) -> GoJSON? {
        members[key.lowercased()].flatMap { $0 == .null ? nil : $0 }
    }

    func string(_ key: String) throws(UnreadableJSON) -> String? {
        switch self[key] {
        case nil: return nil
        case .string(let text)?: return text
        default: throw UnreadableJSON()
        }
    }

    func int(_ key: String) throws(UnreadableJSON) -> Int? {
        switch self[key] {
        case nil: return nil
        case .number(let text)?:
            guard let number = Int(text) else { throw UnreadableJSON() }
            return number
        default: throw UnreadableJSON()
        }
    }

    func bool(_ key: String) throws(UnreadableJSON) -> Bool? {
        switch self[key] {
        case nil: return nil
        case .bool(let flag)?: return flag
        default: throw UnreadableJSON()
        }
    }

    func strings(_ key: String) throws(UnreadableJSON) -> [String] {
        switch self[key] {
        case nil: return []
        case .array(let elements)?:
            var texts: [String] = []
            for element in elements {
                switch element {
                case .string(let text): texts.append(text)
                case .null: texts.append("")
                default: throw UnreadableJSON()
                }
            }
            return texts
        default: throw UnreadableJSON()
        }
    }

    func time(_ key: String) throws(UnreadableJSON) -> GoTime? {
        guard let text = try string(key) else { return nil }
        guard let time = GoTime(text) else { throw UnreadableJSON() }
        return time
    }
}

/// A parser of JSON (RFC 8259).
private struct GoJSONReader {
    /// Deeper nesting is refused, as Go refuses it (at 10,000).
    private static let depthLimit = 1000

    private let bytes: [UInt8]
    private var index = 0
    private var depth = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func value() throws(UnreadableJSON) -> GoJSON {
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

    private mutating func object() throws(UnreadableJSON) -> GoFields {
        var members: [(key: String, value: GoJSON)] = []
        index += 1
        if take("}") { return GoFields(members) }
        repeat {
            skipSpace()
            let key = try string()
            guard take(":") else { throw UnreadableJSON() }
            members.append((key, try value()))
        } while take(",")
        guard take("}") else { throw UnreadableJSON() }
        return GoFields(members)
    }

    private mutating func array() throws(UnreadableJSON) -> [GoJSON] {
        var elements: [GoJSON] = []
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
        return String(decoding: units, as: UTF8.self)
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

    /// A half of a surrogate pair that stands alone becomes U+FFFD.
    private mutating func codePoint() throws(UnreadableJSON) -> Unicode.Scalar {
        let first = try hexUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        let mark = index
        guard (0xD800..<0xDC00).contains(first), bytes[index...].starts(with: Array("\\u".utf8)) else {
            return "\u{FFFD}"
        }
        index += 2
        let second = try hexUnit()
        guard (0xDC00..<0xE000).contains(second) else {
            index = mark
            return "\u{FFFD}"
        }
        return Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)) ?? "\u{FFFD}"
    }

    private mutating func hexUnit() throws(UnreadableJSON) -> UInt32 {
        guard index + 4 <= bytes.count,
            let unit = UInt32(String(decoding: bytes[index..<index + 4], as: UTF8.self), radix: 16)
        else { throw UnreadableJSON() }
        index += 4
        return unit
    }

    private mutating func word() throws(UnreadableJSON) -> GoJSON {
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
