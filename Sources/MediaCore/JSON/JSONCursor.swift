internal import Glibc

/// Reads a JSON text (RFC 8259) from front to back. `JSONReader` builds a value with it; a listing of a million objects
/// is read with it directly, since a dictionary for each costs more than parsing.
package struct JSONCursor {
    /// The text is invalid at about this byte, or not of the requested kind.
    package struct Broken: Error, Equatable {
        package var offset: Int
    }

    package enum Kind: Sendable {
        case null, bool, number, string, array, object
    }

    /// Deeper nesting could overflow the stack.
    package static let deepest = 512

    private let text: ArraySlice<UInt8>
    private var position: Int
    /// Whether a bracket was just opened, so no comma is due.
    private var isAtFirst = false

    package init(_ text: ArraySlice<UInt8>) {
        self.text = text
        position = text.startIndex
    }

    // MARK: Values

    /// The kind of the next value; nil if no value begins here.
    package mutating func kind() -> Kind? {
        skipBlanks()
        guard let next else { return nil }
        return switch next {
        case UInt8(ascii: "{"): .object
        case UInt8(ascii: "["): .array
        case UInt8(ascii: "\""): .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): .bool
        case UInt8(ascii: "n"): .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): .number
        default: nil
        }
    }

    /// Enters an object, whose members `nextMember` returns.
    package mutating func beginObject() throws(Broken) {
        skipBlanks()
        try expect(UInt8(ascii: "{"))
        isAtFirst = true
    }

    /// The name of the object's next member, whose value must be read or skipped before the next call; nil at the end
    /// of the object. Throws if a name is not text.
    package mutating func nextMember() throws(Broken) -> String? {
        guard try hasNext(before: UInt8(ascii: "}")) else { return nil }
        guard let name = try string() else { throw broken }
        skipBlanks()
        try expect(UInt8(ascii: ":"))
        return name
    }

    /// Enters an array; see `nextElement`.
    package mutating func beginArray() throws(Broken) {
        skipBlanks()
        try expect(UInt8(ascii: "["))
        isAtFirst = true
    }

    /// Whether the array has another element, which must be read or skipped before the next call.
    package mutating func nextElement() throws(Broken) -> Bool {
        try hasNext(before: UInt8(ascii: "]"))
    }

    /// A string; nil if it is not text (an invalid escape, a lone surrogate, invalid UTF-8, a bare control character).
    package mutating func string() throws(Broken) -> String? {
        let found = try scanString()
        let raw = position - found.count - 1..<position - 1
        guard found.isClean else { return nil }
        if found.isEscaped { return Self.unescaped(text[raw]) }
        // ASCII need not be validated as UTF-8.
        return found.isASCII
            ? withBytes(raw) { String(decoding: $0, as: UTF8.self) }
            : withBytes(raw) { String(validating: $0, as: UTF8.self) }
    }

    /// Decodes the bytes between the quotes (RFC 8259 section 7); nil if the result is not valid text.
    private static func unescaped(_ raw: ArraySlice<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(raw.count)
        var rest = raw
        while let start = rest.firstIndex(of: TextEscape.json.mark) {
            guard let escape = TextEscape.json.first(in: rest[start...]) else { return nil }
            bytes += rest[..<start]
            bytes += escape.bytes
            rest = rest[(start + escape.length)...]
        }
        return String(validating: bytes + rest, as: UTF8.self)
    }

    private mutating func scanString() throws(Broken) -> StringScan {
        skipBlanks()
        try expect(UInt8(ascii: "\""))
        let found = withBytes(position..<text.endIndex) { StringScan($0) }
        guard found.isClosed else {
            position = text.endIndex
            throw broken
        }
        position += found.count + 1
        return found
    }

    /// The characters of a number, not validated.
    package mutating func number() throws(Broken) -> String {
        skipBlanks()
        let start = position
        while let byte = next, Self.isOfNumber(byte) { position += 1 }
        guard position > start else { throw broken }
        return withBytes(start..<position) { String(decoding: $0, as: UTF8.self) }
    }

    package mutating func bool() throws(Broken) -> Bool {
        skipBlanks()
        if next == UInt8(ascii: "t") {
            try literal("true")
            return true
        }
        try literal("false")
        return false
    }

    package mutating func null() throws(Broken) {
        skipBlanks()
        try literal("null")
    }

    package mutating func skip(depth: Int = 0) throws(Broken) {
        guard depth < Self.deepest else { throw broken }
        switch kind() {
        case .object:
            try beginObject()
            while try nextMember() != nil { try skip(depth: depth + 1) }
        case .array:
            try beginArray()
            while try nextElement() { try skip(depth: depth + 1) }
        case .string: _ = try scanString()
        case .bool: _ = try bool()
        case .null: try null()
        case .number: _ = try number()
        case nil: throw broken
        }
    }

    /// The offset at which the next value begins.
    package mutating func start() -> Int {
        skipBlanks()
        return position
    }

    /// Skips the next value if its text equals that of an earlier value, and returns whether it did. `value` is the
    /// range of the earlier value, between the offsets that `start()` returned before and after it. Only strings,
    /// arrays and objects can be recognized: they end with a delimiter.
    package mutating func skipRepetition(of value: Range<Int>) -> Bool {
        skipBlanks()
        guard text.endIndex - position >= value.count else { return false }
        let isSame = withBytes(value) { known in
            withBytes(position..<position + value.count) { next in
                guard let known = known.baseAddress, let next = next.baseAddress else { return false }
                return memcmp(known, next, value.count) == 0
            }
        }
        if isSame { position += value.count }
        return isSame
    }

    /// Whether only whitespace is left.
    package mutating func isAtEnd() -> Bool {
        skipBlanks()
        return position >= text.endIndex
    }

    /// The error at the cursor's position.
    package var broken: Broken { Broken(offset: position - text.startIndex) }

    // MARK: Grammar

    /// Moves to the next entry of a comma-separated list, or past the closing bracket.
    private mutating func hasNext(before end: UInt8) throws(Broken) -> Bool {
        skipBlanks()
        if take(end) {
            isAtFirst = false
            return false
        }
        if !isAtFirst { try expect(UInt8(ascii: ",")) }
        isAtFirst = false
        return true
    }

    private mutating func literal(_ word: StaticString) throws(Broken) {
        guard position < text.endIndex, word.withUTF8Buffer({ text[position...].starts(with: $0) }) else {
            throw broken
        }
        position += word.utf8CodeUnitCount
    }

    private static func isOfNumber(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x2b, 0x2d, 0x2e, 0x45, 0x65: true
        default: false
        }
    }

    // MARK: Bytes

    /// Accesses the bytes in place: a slice of the text would be reference-counted.
    private func withBytes<Result>(_ range: Range<Int>, _ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        text.withUnsafeBufferPointer { bytes in
            let first = range.lowerBound - text.startIndex
            return body(UnsafeBufferPointer(rebasing: bytes[first..<first + range.count]))
        }
    }

    private var next: UInt8? { position < text.endIndex ? text[position] : nil }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ byte: UInt8) throws(Broken) {
        guard take(byte) else { throw broken }
    }

    private mutating func skipBlanks() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }
}

/// The end of a string, and its properties. Most of a listing is strings, so each byte is inspected once.
private struct StringScan {
    /// Bytes before the closing quote.
    var count = 0
    var isClosed = false
    var isEscaped = false
    /// Whether there is no bare control character.
    var isClean = true
    var isASCII = true

    /// Starts after the opening quote.
    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        while count < bytes.count {
            switch bytes[count] {
            case UInt8(ascii: "\""):
                isClosed = true
                return
            case UInt8(ascii: "\\"):
                isEscaped = true
                count += 1
            case 0..<0x20: isClean = false
            case 0x80...: isASCII = false
            default: break
            }
            count += 1
        }
    }
}
