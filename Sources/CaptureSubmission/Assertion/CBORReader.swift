/// Reads CBOR (RFC 8949) that somebody else may have made: every length is held against what is there, and nesting is bounded.
struct CBORReader {
    /// Major types (section 3.1).
    enum Kind: UInt8 {
        case unsigned, negative, bytes, text, array, map, tag, simple
    }

    /// Deeper nesting is an attack on the stack, not an assertion.
    private static let deepest = 16

    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    /// Whether nothing is left.
    var isAtEnd: Bool { rest.isEmpty }

    /// Enters an array or a map: how many elements, or pairs, it has. Stays in place at anything else.
    mutating func count(of kind: Kind) -> Int? {
        var reader = self
        guard let head = reader.head(), head.kind == kind else { return nil }
        // Each takes a byte at least, so that a lie about millions ends here.
        guard let count = Int(exactly: head.value), count <= reader.rest.count else { return nil }
        self = reader
        return count
    }

    /// A byte string. Stays in place at anything else.
    mutating func bytes() -> [UInt8]? {
        string(.bytes)
    }

    /// A text. Stays in place at anything else.
    mutating func text() -> String? {
        var reader = self
        guard let bytes = reader.string(.text), let text = String(validating: bytes, as: UTF8.self) else { return nil }
        self = reader
        return text
    }

    /// Steps over a value of any kind.
    ///
    /// - Returns: Whether there was one.
    mutating func skip(depth: Int = 0) -> Bool {
        guard depth < Self.deepest, let head = head() else { return false }
        switch head.kind {
        case .unsigned, .negative, .simple: return true
        case .bytes, .text: return take(head.value) != nil
        case .tag: return skip(depth: depth + 1)
        case .array, .map:
            guard let count = Int(exactly: head.value), count <= rest.count else { return false }
            for _ in 0..<(head.kind == .map ? 2 * count : count) {
                guard skip(depth: depth + 1) else { return false }
            }
            return true
        }
    }

    private mutating func string(_ kind: Kind) -> [UInt8]? {
        var reader = self
        guard let head = reader.head(), head.kind == kind, let bytes = reader.take(head.value) else { return nil }
        self = reader
        return bytes
    }

    /// The kind of the next value, and its number, length or count. Indefinite lengths are none of ours.
    private mutating func head() -> (kind: Kind, value: UInt64)? {
        guard let first = rest.popFirst(), let kind = Kind(rawValue: first >> 5) else { return nil }
        switch first & 0x1f {
        case let small where small < 24: return (kind, UInt64(small))
        case let form where form < 28:
            guard let bytes = take(1 << (form - 24)) else { return nil }
            return (kind, bytes.reduce(0) { $0 << 8 | UInt64($1) })
        default: return nil
        }
    }

    private mutating func take(_ count: UInt64) -> [UInt8]? {
        guard let count = Int(exactly: count), count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
