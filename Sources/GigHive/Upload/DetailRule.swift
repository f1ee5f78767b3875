internal import Foundation

/// The rule of one field.
struct DetailRule {
    let field: String
    let allowsLineBreaks: Bool

    init(_ field: String, allowsLineBreaks: Bool = false) {
        self.field = field
        self.allowsLineBreaks = allowsLineBreaks
    }

    func required(_ value: String, limit: Int) throws(GigHiveError) -> String {
        guard let text = try optional(value) else {
            throw invalid(value, "must not be blank")
        }
        try checkLength(text, limit: limit, of: value)
        return text
    }

    func limited(_ value: String?, limit: Int) throws(GigHiveError) -> String? {
        guard let value, let text = try optional(value) else { return nil }
        try checkLength(text, limit: limit, of: value)
        return text
    }

    /// A comma-separated list of names, with a limit for each name (trap T26).
    func names(_ value: String?, limit: Int) throws(GigHiveError) -> String? {
        guard let value, let text = try optional(value) else { return nil }
        for name in text.split(separator: ",") {
            let count = Self.trimmed(String(name)).unicodeScalars.count
            guard count <= limit else {
                throw invalid(
                    value,
                    "has a name of \(count) characters; at most \(limit) are allowed",
                    limit: Int64(limit)
                )
            }
        }
        return text
    }

    private func checkLength(_ text: String, limit: Int, of value: String) throws(GigHiveError) {
        let count = text.unicodeScalars.count
        guard count <= limit else {
            throw invalid(value, "has \(count) characters; at most \(limit) are allowed", limit: Int64(limit))
        }
    }

    /// The limit of a guest's label (gighive contract section 6).
    func checkBytes(_ text: String, limit: Int) throws(GigHiveError) {
        let count = text.utf8.count
        guard count <= limit else {
            throw invalid(text, "has \(count) bytes; at most \(limit) are allowed for guests", limit: Int64(limit))
        }
    }

    func optional(_ value: String?) throws(GigHiveError) -> String? {
        guard let value else { return nil }
        let text = Self.trimmed(value).precomposedStringWithCanonicalMapping
        let isControl = text.unicodeScalars.contains { scalar in
            guard scalar.properties.generalCategory == .control else { return false }
            return !(allowsLineBreaks && ["\n", "\r", "\t"].contains(scalar))
        }
        if isControl {
            throw invalid(value, "must not contain control characters")
        }
        return text.unicodeScalars.allSatisfy(Self.isBlank) ? nil : text
    }

    /// Without the white space around it. U+0085 is a control character besides, and is left to be refused.
    private static func trimmed(_ value: String) -> String {
        let isSpace = { (scalar: Unicode.Scalar) in scalar.properties.isWhitespace && scalar.value != 0x85 }
        let rest = value.unicodeScalars.drop(while: isSpace)
        guard let end = rest.lastIndex(where: { !isSpace($0) }) else { return "" }
        return String(rest[...end])
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isWhitespace || [0x200b, 0x200c, 0x200d, 0x2060, 0xfeff].contains(scalar.value)
    }

    func choice(_ value: String, of choices: [String]) throws(GigHiveError) -> String {
        guard let text = try optional(value), choices.contains(text) else {
            throw invalid(value, "must be one of \(choices.joined(separator: ", "))")
        }
        return text
    }

    func date(_ value: String) throws(GigHiveError) -> String {
        guard let text = try optional(value), CalendarDate.exists(text) else {
            throw invalid(value, "must be a valid date (YYYY-MM-DD)")
        }
        return text
    }

    func rating(_ value: String?) throws(GigHiveError) -> String? {
        guard let text = try optional(value) else { return nil }
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text), number <= 9 else {
            throw invalid(text, "must be a whole number from 0 to 9", limit: 9)
        }
        return String(number)
    }

    private func invalid(_ value: String, _ rule: String, limit: Int64? = nil) -> GigHiveError {
        GigHiveError(.invalidDetail, detail: rule, field: field, value: value, limit: limit)
    }
}

/// Dates of the Gregorian calendar, without a time zone and without a formatter.
enum CalendarDate {
    /// Whether a text is `YYYY-MM-DD` and names a day that exists. Impossible dates pass the server's own pattern and
    /// end in a 500 after the whole body (gighive contract 2.1).
    static func exists(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 10, bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10])
        else { return false }
        return year >= 1 && (1...12).contains(month) && day >= 1 && day <= days(in: month, of: year)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 0x30)
        }
        return value
    }

    private static func days(in month: Int, of year: Int) -> Int {
        let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return switch month {
        case 2: isLeap ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}
