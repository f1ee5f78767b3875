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
