internal import MediaCore
internal import MediaTransport

/// Writes JSON in the form that a profile signs: one representation for each value, without whitespace.
///
/// `mediactl-1`: RFC 8785. `reference`: members in the order given, numbers in the format of contract 2.1.
struct WireText {
    private let profile: CaptureProfile
    private var bytes: [UInt8] = []

    static func bytes(of value: JSONValue, for profile: CaptureProfile) -> [UInt8] {
        var text = WireText(profile: profile)
        text.append(value)
        return text.bytes
    }

    private mutating func append(_ value: JSONValue) {
        switch value {
        case .null: bytes += "null".utf8
        case .bool(let flag): bytes += (flag ? "true" : "false").utf8
        case .integer(let number): bytes += String(number).utf8
        case .double(let number): append(number)
        case .string(let text): append(text)
        case .verbatim(let json): bytes += json.utf8
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
    private func inOrder(_ members: JSONObject) -> [JSONObject.Member] {
        switch profile {
        case .mediactl1: members.sorted { $0.name.utf16.lexicographicallyPrecedes($1.name.utf16) }
        case .reference: Array(members)
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

    /// Both profiles escape as few characters as possible (RFC 8785 section 3.2.2.2, contract 2.1): never `/`, U+007F,
    /// U+2028.
    private mutating func append(_ text: String) { bytes += JSONText.quoted(text).utf8 }
}

extension JSONValue {
    /// Throws for a non-finite number.
    static func wide(_ number: Double, _ name: String) throws(CaptureError) -> JSONValue {
        guard number.isFinite else { throw CaptureError(.internalError, detail: "\"\(name)\" is not a finite number") }
        return .double(number)
    }

    /// A number that servers store as binary32, widened again to make its digits match the server's (trap 7). Throws if
    /// binary32 cannot represent it.
    static func narrow(_ number: Double, _ name: String) throws(CaptureError) -> JSONValue {
        try wide(Double(Float(number)), name)
    }
}

/// Derives the signed bytes of a finished body as its server does: from the body alone, by code that is independent of
/// the code that built the body (contract 2.3).
enum SignedBytes {
    /// - Returns: nil if the server would refuse the body's structure.
    static func rebuilt(from body: [UInt8], for profile: CaptureProfile) -> [UInt8]? {
        guard let members = JSONValue.object(in: body[...]) else { return nil }
        let value =
            switch profile {
            case .mediactl1: JSONValue.object(JSONObject(members.filter { $0.name != "assertion" }))
            case .reference: ReferenceReading.signedValue(of: members)
            }
        return value.map { WireText.bytes(of: $0, for: profile) }
    }
}
