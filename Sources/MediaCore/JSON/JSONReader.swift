/// Reads a JSON text (RFC 8259) into a `JSONValue`. Foundation's decoder, which has to try one type after the other,
/// takes as long for an answer as sending a small file does.
///
/// A string that is no text (a lone surrogate, bytes that are no UTF-8, a bare control character) and a number that no
/// type holds are `null`; everything else that is against the grammar makes the whole text unreadable.
package enum JSONReader {
    /// The value that a text consists of; nil when it is broken.
    package static func value(of text: ArraySlice<UInt8>) -> JSONValue? {
        var cursor = JSONCursor(text)
        guard let value = try? value(&cursor, depth: 0) else { return nil }
        return cursor.isAtEnd() ? value : nil
    }

    /// The value that a text begins with, whatever follows it.
    ///
    /// - Parameter text: The text; blanks before the value are skipped.
    /// - Returns: The value, and where it ends.
    /// - Throws: `JSONCursor.Broken` if the text does not begin with a value.
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
        let unsigned = digits.drop { $0 == "-" }
        guard unsigned.utf8.count == 1 || !unsigned.hasPrefix("0") || unsigned.dropFirst().first?.isNumber == false
        else { return .null }
        if let whole = Int64(digits) { return .integer(whole) }
        return Double(digits).flatMap { $0.isFinite ? .double($0) : nil } ?? .null
    }
}
