/// Reads a JSON text (RFC 8259) into a `JSONValue`. Foundation's decoder tries one type after another, and takes as
/// long to decode a response as it takes to send a small file.
///
/// A string that is not text (an invalid escape, a lone surrogate, invalid UTF-8, a bare control character) and a
/// number that is malformed or that no type can represent are `null`; any other syntax error makes the whole text
/// invalid.
package enum JSONReader {
    /// The value of a text; nil if the text is invalid.
    package static func value(of text: ArraySlice<UInt8>) -> JSONValue? {
        var cursor = JSONCursor(text)
        guard let value = try? value(&cursor, depth: 0) else { return nil }
        return cursor.isAtEnd() ? value : nil
    }

    /// The value at the beginning of a text, leading blanks skipped, and the offset of the text after it.
    package static func firstValue(
        of text: ArraySlice<UInt8>
    ) throws(JSONCursor.Broken) -> (value: JSONValue, end: Int) {
        var cursor = JSONCursor(text)
        let value = try value(&cursor, depth: 0)
        return (value, cursor.start())
    }

    private static func value(_ cursor: inout JSONCursor, depth: Int) throws(JSONCursor.Broken) -> JSONValue {
        guard depth < JSONCursor.deepest else { throw cursor.broken }
        switch cursor.kind() {
        case .object:
            var members: [JSONObject.Member] = []
            try cursor.beginObject()
            while let name = try cursor.nextMember() { members.append((name, try value(&cursor, depth: depth + 1))) }
            return .object(JSONObject(members))
        case .array:
            var elements: [JSONValue] = []
            try cursor.beginArray()
            while try cursor.nextElement() { elements.append(try value(&cursor, depth: depth + 1)) }
            return .array(elements)
        case .string: return try cursor.string().map(JSONValue.string) ?? .null
        case .bool: return .bool(try cursor.bool())
        case .null:
            try cursor.null()
            return .null
        case .number: return number(try cursor.number())
        case nil: throw cursor.broken
        }
    }

    private static func number(_ digits: String) -> JSONValue {
        // A number has no leading zero (section 6).
        let unsigned = digits.utf8.drop { $0 == UInt8(ascii: "-") }
        let second = unsigned.dropFirst().first ?? UInt8(ascii: ".")
        guard unsigned.first != UInt8(ascii: "0") || !(0x30...0x39).contains(second) else { return .null }
        if let whole = Int64(digits) { return .integer(whole) }
        return Double(digits).flatMap { $0.isFinite ? .double($0) : nil } ?? .null
    }
}
