/// Reads a JSON text (RFC 8259) into a `JSONValue`. Foundation's decoder, which has to try one type after the other,
/// takes as long for an answer as sending a small file does.
///
/// A string that is no text (a lone surrogate, bytes that are no UTF-8, a bare control character) and a number that no
/// type holds are `null`; everything else that is against the grammar makes the whole text unreadable.
package struct JSONReader {
    private struct Broken: Error {}

    /// Deeper nesting is an attack on the stack, not an answer.
    private static let deepest = 512

    private let text: ArraySlice<UInt8>
    private var position: Int

    private init(_ text: ArraySlice<UInt8>) {
        self.text = text
        position = text.startIndex
    }

    /// The value that a text consists of; nil when it is broken.
    package static func value(of text: ArraySlice<UInt8>) -> JSONValue? {
        var reader = JSONReader(text)
        guard let value = try? reader.value(depth: 0) else { return nil }
        reader.skipBlanks()
        return reader.position == text.endIndex ? value : nil
    }

    // MARK: Grammar

    private mutating func value(depth: Int) throws(Broken) -> JSONValue {
        guard depth < Self.deepest else { throw Broken() }
        skipBlanks()
        switch next {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return try string().map(JSONValue.string) ?? .null
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): return number()
        default: throw Broken()
        }
    }

    private mutating func object(depth: Int) throws(Broken) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        try list(until: UInt8(ascii: "}")) { reader throws(Broken) in
            guard reader.next == UInt8(ascii: "\""), let name = try reader.string() else { throw Broken() }
            reader.skipBlanks()
            guard reader.take(UInt8(ascii: ":")) else { throw Broken() }
            members[name] = try reader.value(depth: depth)
        }
        return members
    }

    private mutating func array(depth: Int) throws(Broken) -> [JSONValue] {
        var elements: [JSONValue] = []
        try list(until: UInt8(ascii: "]")) { reader throws(Broken) in
            elements.append(try reader.value(depth: depth))
        }
        return elements
    }

    /// What stands between brackets, separated by commas.
    private mutating func list(
        until end: UInt8,
        _ readEntry: (inout JSONReader) throws(Broken) -> Void
    ) throws(Broken) {
        position += 1
        skipBlanks()
        if take(end) { return }
        while true {
            skipBlanks()
            try readEntry(&self)
            skipBlanks()
            if take(end) { return }
            guard take(UInt8(ascii: ",")) else { throw Broken() }
        }
    }

    private mutating func literal(_ word: StaticString, _ value: JSONValue) throws(Broken) -> JSONValue {
        guard word.withUTF8Buffer({ text[position...].starts(with: $0) }) else { throw Broken() }
        position += word.utf8CodeUnitCount
        return value
    }

    private mutating func number() -> JSONValue {
        let start = position
        while let byte = next, Self.isOfNumber(byte) { position += 1 }
        let digits = String(decoding: text[start..<position], as: UTF8.self)
        let unsigned = digits.drop { $0 == "-" }
        guard unsigned.utf8.count == 1 || !unsigned.hasPrefix("0") || unsigned.dropFirst().first?.isNumber == false
        else { return .null }
        if let whole = Int64(digits) { return .integer(whole) }
        return Double(digits).flatMap { $0.isFinite ? .double($0) : nil } ?? .null
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x2b, 0x2d, 0x2e, 0x45, 0x65: true
        default: false
        }
    }

    // MARK: Strings

    /// The string at the position; nil when it is no text.
    private mutating func string() throws(Broken) -> String? {
        position += 1
        let start = position
        var isEscaped = false
        var isClean = true
        while let byte = next {
            switch byte {
            case UInt8(ascii: "\""):
                let raw = text[start..<position]
                position += 1
                guard isClean else { return nil }
                return isEscaped ? Self.unescaped(raw) : String(validating: raw, as: UTF8.self)
            case UInt8(ascii: "\\"):
                isEscaped = true
                position += 2
            case 0..<0x20:
                isClean = false
                position += 1
            default: position += 1
            }
        }
        throw Broken()
    }

    private static func unescaped(_ raw: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        var rest = raw
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0c)
            case UInt8(ascii: "n"): bytes.append(0x0a)
            case UInt8(ascii: "r"): bytes.append(0x0d)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"):
                guard let scalar = scalar(&rest) else { return nil }
                bytes += Array(String(Character(scalar)).utf8)
            case let same? where same == UInt8(ascii: "\"") || same == UInt8(ascii: "\\") || same == UInt8(ascii: "/"):
                bytes.append(same)
            default: return nil
            }
        }
        return String(validating: bytes, as: UTF8.self)
    }

    /// What `\u` stands before: four hexadecimal digits, or a pair of surrogates.
    private static func scalar(_ rest: inout ArraySlice<UInt8>) -> Unicode.Scalar? {
        guard let first = unit(&rest) else { return nil }
        guard (0xd800...0xdbff).contains(first) else { return Unicode.Scalar(first) }
        guard rest.starts(with: [UInt8(ascii: "\\"), UInt8(ascii: "u")]) else { return nil }
        rest = rest.dropFirst(2)
        guard let second = unit(&rest), (0xdc00...0xdfff).contains(second) else { return nil }
        return Unicode.Scalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00))
    }

    private static func unit(_ rest: inout ArraySlice<UInt8>) -> UInt32? {
        let digits = rest.prefix(4)
        guard digits.count == 4, digits.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }) else {
            return nil
        }
        rest = rest.dropFirst(4)
        return UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    // MARK: Bytes

    private var next: UInt8? { position < text.endIndex ? text[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }
}
