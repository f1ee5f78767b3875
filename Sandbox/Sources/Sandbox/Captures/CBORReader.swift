struct UnreadableCBOR: Error {}

/// Reads a CBOR map (RFC 8949) with text keys and byte-string values, the form of an assertion.
struct CBORReader {
    private var rest: ArraySlice<UInt8>

    static func read(_ bytes: [UInt8]) throws(UnreadableCBOR) -> [String: [UInt8]] {
        var reader = CBORReader(rest: bytes[...])
        var map: [String: [UInt8]] = [:]
        for _ in 0..<(try reader.count(ofType: 5)) {
            guard let key = String(validating: try reader.take(ofType: 3), as: UTF8.self) else {
                throw UnreadableCBOR()
            }
            map[key] = try reader.take(ofType: 2)
        }
        guard reader.rest.isEmpty else { throw UnreadableCBOR() }
        return map
    }

    /// The count in a head of this major type. It cannot exceed the number of remaining bytes, since each element takes
    /// at least one.
    private mutating func count(ofType type: UInt8) throws(UnreadableCBOR) -> Int {
        guard let first = rest.popFirst(), first >> 5 == type else { throw UnreadableCBOR() }
        let information = Int(first & 31)
        // No assertion has an indefinite length.
        guard information < 28 else { throw UnreadableCBOR() }
        let digits = information < 24 ? [UInt8(information)] : try take(1 << (information - 24))
        guard let count = Int(exactly: digits.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }), count <= rest.count else {
            throw UnreadableCBOR()
        }
        return count
    }

    private mutating func take(ofType type: UInt8) throws(UnreadableCBOR) -> [UInt8] {
        try take(try count(ofType: type))
    }

    private mutating func take(_ count: Int) throws(UnreadableCBOR) -> [UInt8] {
        guard count <= rest.count else { throw UnreadableCBOR() }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}
