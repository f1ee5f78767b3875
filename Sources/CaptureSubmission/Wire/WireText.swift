internal import MediaCore

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
