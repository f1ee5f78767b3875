internal import MediaCore
internal import MediaTransport

extension JSONValue {
    /// Any number.
    var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// A number written as an integer, of 32 bits: `3.0` is none (contract 1.2).
    var int32: Int32? {
        if case .integer(let number) = self { Int32(exactly: number) } else { nil }
    }

    /// `true` or `false`.
    var flag: Bool? {
        if case .bool(let flag) = self { flag } else { nil }
    }

    /// Whether an optional member is as good as absent.
    var isNull: Bool {
        if case .null = self { true } else { false }
    }
}
