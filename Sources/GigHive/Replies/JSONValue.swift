/// Any JSON value (RFC 8259). Read without trusting types: the accessors give nil where a server sent something else.
enum JSONValue: Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    /// The object that a text consists of; nil when it is anything else or broken.
    static func object(in text: ArraySlice<UInt8>) -> [String: JSONValue]? {
        guard case .object(let members)? = JSONReader.value(of: text) else { return nil }
        return members
    }

    /// The text of a string.
    var text: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// A whole number, also when it came as a string of digits or as `18.0`.
    var wholeNumber: Int64? {
        switch self {
        case .integer(let value): value
        case .double(let value): Int64(exactly: value)
        case .string(let text): text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
        default: nil
        }
    }

    /// Members of an object.
    var members: [String: JSONValue]? {
        if case .object(let members) = self { members } else { nil }
    }

    /// Elements of an array; empty for anything else.
    var elements: [JSONValue] {
        if case .array(let elements) = self { elements } else { [] }
    }
}

extension [String: JSONValue] {
    /// A server's id: a positive whole number.
    func identifier(_ key: String) -> Int64? {
        self[key]?.wholeNumber.flatMap { $0 > 0 ? $0 : nil }
    }

    /// A text that is not blank.
    func text(_ key: String) -> String? {
        guard let text = self[key]?.text, text.contains(where: { !$0.isWhitespace }) else { return nil }
        return text
    }

    /// A SHA-256 digest in lower-case hexadecimal.
    func checksum(_ key: String) -> String? {
        text(key).map { $0.lowercased() }.flatMap { Checksum.isSHA256($0) ? $0 : nil }
    }
}

/// The written form of a SHA-256 digest.
enum Checksum {
    /// Whether a text is 64 lower-case hexadecimal characters.
    static func isSHA256(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 64
            && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }
}
