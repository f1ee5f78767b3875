internal import MediaCore
internal import MediaTransport

/// A JSON value on its way out: members in order, and whole numbers apart from others, so that a fraction can never get into
/// a count (trap 9).
enum WireValue: Sendable, Equatable {
    /// One member of an object.
    struct Member: Sendable, Equatable {
        var name: String
        var value: WireValue

        init(_ name: String, _ value: WireValue) {
            self.name = name
            self.value = value
        }
    }

    case null
    case bool(Bool)
    case integer(Int64)
    /// Finite: `number` and `narrowNumber` make it.
    case number(Double)
    case string(String)
    case array([WireValue])
    case object([Member])

    /// A value that was read.
    init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let flag): self = .bool(flag)
        case .integer(let number): self = .integer(number)
        case .double(let number): self = .number(number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { WireValue($0) })
        case .object(let members): self = .object(members.map { Member($0.key, WireValue($0.value)) })
        }
    }

    /// A binary64 number.
    ///
    /// - Throws: `CaptureError` `.internalError` for what JSON cannot write.
    static func wide(_ number: Double, _ name: String) throws(CaptureError) -> WireValue {
        guard number.isFinite else { throw notFinite(name) }
        return .number(number)
    }

    /// A number that servers keep in binary32, widened again, so that its digits are theirs (trap 7).
    ///
    /// - Throws: `CaptureError` `.internalError` for what binary32 cannot hold.
    static func narrow(_ number: Double, _ name: String) throws(CaptureError) -> WireValue {
        let narrow = Float(number)
        guard narrow.isFinite else { throw notFinite(name) }
        return .number(Double(narrow))
    }

    private static func notFinite(_ name: String) -> CaptureError {
        CaptureError(.internalError, detail: "\"\(name)\" is no finite number")
    }

    /// The members of an object; none for anything else.
    var members: [Member] {
        if case .object(let members) = self { members } else { [] }
    }

    /// An object without one of its members.
    func without(_ name: String) -> WireValue {
        .object(members.filter { $0.name != name })
    }

    /// An object with further members behind its own.
    func adding(_ more: [Member]) -> WireValue {
        .object(members + more)
    }
}
