/// Not CBOR, or more than one value.
struct UnreadableCBOR: Error {}

/// Reads one value of CBOR.
struct CBORReader {
    private static let depthLimit = 16

    private var rest: ArraySlice<UInt8>

    private init(_ bytes: [UInt8]) { rest = bytes[...] }

    static func read(_ bytes: [UInt8]) throws(UnreadableCBOR) -> CBORValue {
        var reader = CBORReader(bytes)
        let value = try reader.value(depth: 0)
        guard reader.rest.isEmpty else { throw UnreadableCBOR() }
        return value
    }

    private mutating func value(depth: Int) throws(UnreadableCBOR) -> CBORValue {
        guard depth < Self.depthLimit, let first = rest.popFirst() else { throw UnreadableCBOR() }
        let argument = try argument(first & 31)
        switch first >> 5 {
        case 0: return .unsigned(argument)
        case 1: return .negative(argument)
        case 2: return .bytes(try take(argument))
        case 3:
            guard let text = String(validating: try take(argument), as: UTF8.self) else { throw UnreadableCBOR() }
            return .text(text)
        case 4:
            var elements: [CBORValue] = []
            for _ in 0..<(try count(argument)) { elements.append(try value(depth: depth + 1)) }
            return .array(elements)
        case 5:
            var pairs: [(key: CBORValue, value: CBORValue)] = []
            for _ in 0..<(try count(argument)) {
                pairs.append((try value(depth: depth + 1), try value(depth: depth + 1)))
            }
            return .map(pairs)
        case 6: return .tagged(argument, try value(depth: depth + 1))
        default: return .simple
        }
    }

    /// The number in the head. Lengths without end are refused: no assertion has one.
    private mutating func argument(_ information: UInt8) throws(UnreadableCBOR) -> UInt64 {
        guard information >= 24 else { return UInt64(information) }
        guard information < 28 else { throw UnreadableCBOR() }
        return try take(1 << (information - 24)).reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Every element takes a byte at least.
    private func count(_ argument: UInt64) throws(UnreadableCBOR) -> Int {
        guard let count = Int(exactly: argument), count <= rest.count else { throw UnreadableCBOR() }
        return count
    }

    private mutating func take(_ argument: UInt64) throws(UnreadableCBOR) -> [UInt8] {
        let count = try count(argument)
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }
}

/// A value of CBOR (RFC 8949), as far as assertions have them.
indirect enum CBORValue: Equatable, Sendable {
    case unsigned(UInt64)
    case negative(UInt64)
    case bytes([UInt8])
    case text(String)
    case array([CBORValue])
    case map([(key: CBORValue, value: CBORValue)])
    case tagged(UInt64, CBORValue)
    /// True, false, null, floating point: not looked at.
    case simple

    static func == (left: CBORValue, right: CBORValue) -> Bool {
        switch (left, right) {
        case (.unsigned(let left), .unsigned(let right)): left == right
        case (.negative(let left), .negative(let right)): left == right
        case (.bytes(let left), .bytes(let right)): left == right
        case (.text(let left), .text(let right)): left == right
        default: false
        }
    }

    /// The value of a text key; nil when there is none, and when this is no map.
    subscript(key: String) -> CBORValue? {
        guard case .map(let pairs) = self else { return nil }
        return pairs.first { $0.key == .text(key) }?.value
    }

    /// The content of a byte string.
    var byteString: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
}
