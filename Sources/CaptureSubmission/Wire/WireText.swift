internal import MediaCore
internal import MediaTransport

/// Writes JSON as a profile signs it: one spelling for each value, without white space.
///
/// `mediactl-1`: RFC 8785. `reference`: members in the order given, numbers as contract 2.1 writes them.
struct WireText {
    private let profile: CaptureProfile
    private var bytes: [UInt8] = []

    private init(_ profile: CaptureProfile) {
        self.profile = profile
    }

    /// The UTF-8 text of a value.
    static func bytes(of value: WireValue, for profile: CaptureProfile) -> [UInt8] {
        var text = WireText(profile)
        text.append(value)
        return text.bytes
    }

    private mutating func append(_ value: WireValue) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let flag): bytes += (flag ? "true" : "false").utf8
        case .integer(let number): bytes += String(number).utf8
        case .number(let number): append(number)
        case .string(let text): append(text)
        case .array(let elements):
            append(elements, between: "[", "]") { $0.append($1) }
        case .object(let members):
            append(inOrder(members), between: "{", "}") { text, member in
                text.append(member.name)
                text.bytes.append(UInt8(ascii: ":"))
                text.append(member.value)
            }
        }
    }

    /// RFC 8785 section 3.2.3 orders by UTF-16 code units, not by scalars.
    private func inOrder(_ members: [WireValue.Member]) -> [WireValue.Member] {
        switch profile {
        case .mediactl1: members.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
        case .reference: members
        }
    }

    private mutating func append<Element>(
        _ elements: [Element],
        between start: Unicode.Scalar,
        _ end: Unicode.Scalar,
        _ appendOne: (inout WireText, Element) -> Void
    ) {
        bytes.append(UInt8(ascii: start))
        for (index, element) in elements.enumerated() {
            if index > 0 { bytes.append(UInt8(ascii: ",")) }
            appendOne(&self, element)
        }
        bytes.append(UInt8(ascii: end))
    }

    private mutating func append(_ number: Double) {
        let digits = DecimalDigits(number)
        switch profile {
        case .mediactl1: bytes += digits.ecmaScript.utf8
        case .reference: bytes += digits.withFraction.utf8
        }
    }

    /// Both profiles escape as little as they may (RFC 8785 section 3.2.2.2, contract 2.1): never `/`, U+007F, U+2028.
    private mutating func append(_ text: String) { bytes += JSONText.quoted(text).utf8 }
}

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

/// The signed bytes of a finished body, as the server that gets it makes them: from the body alone, by another way than the
/// one that they were made by here (contract 2.3).
enum SignedBytes {
    /// - Returns: nil when the server would refuse the body's shape.
    static func rebuilt(from body: [UInt8], for profile: CaptureProfile) -> [UInt8]? {
        guard let members = JSONValue.object(in: body[...]) else { return nil }
        let value =
            switch profile {
            case .mediactl1: WireValue(.object(members)).without("assertion")
            case .reference: ReferenceReading.signedValue(of: members)
            }
        return value.map { WireText.bytes(of: $0, for: profile) }
    }
}
