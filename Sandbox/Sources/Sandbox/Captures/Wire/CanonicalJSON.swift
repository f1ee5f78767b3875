/// Canonical JSON (RFC 8785) of whatever was received: the sandbox knows nothing here of what members there should be, so
/// it checks the client's own writer.
enum CanonicalJSON {
    /// - Throws: ``UnreadableJSON`` for a member that is there twice and a number beyond binary64, which have no canonical
    ///   form (RFC 7493).
    static func text(of value: ReceivedJSON) throws(UnreadableJSON) -> String {
        switch value {
        case .null: return "null"
        case .bool(let flag): return flag ? "true" : "false"
        case .string(let text): return SerdeJSONEncoder.quoted(text)
        case .number(let text):
            guard let number = Double(text), number.isFinite else { throw UnreadableJSON() }
            return ShortestDecimal(number).ecmaScriptText
        case .array(let elements):
            var texts: [String] = []
            for element in elements { texts.append(try self.text(of: element)) }
            return "[" + texts.joined(separator: ",") + "]"
        case .object(let members):
            guard Set(members.map { Array($0.key.utf8) }).count == members.count else { throw UnreadableJSON() }
            var texts: [String] = []
            // Sorted by UTF-16 code units, which is not the order of the code points.
            for member in members.sorted(by: { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }) {
                texts.append(SerdeJSONEncoder.quoted(member.key) + ":" + (try text(of: member.value)))
            }
            return "{" + texts.joined(separator: ",") + "}"
        }
    }
}

/// Writes JSON the way the real capture server's library does: compact, raw UTF-8, no escaped slashes, only what must be
/// escaped is (contract 2.1).
enum SerdeJSONEncoder {
    static func encode(_ value: JSONValue) -> String {
        JSONWriter(quote: quote, decimal: { ShortestDecimal($0).serdeText }).text(of: value)
    }

    /// In quotes; RFC 8785 section 3.2.2.2 wants the same.
    static func quoted(_ string: String) -> String {
        var text = ""
        quote(string, to: &text)
        return text
    }

    private static func quote(_ string: String, to text: inout String) {
        JSONWriter.quote(string, to: &text) { $0 < " " ? JSONWriter.escaped($0.value) : nil }
    }
}

/// How the real server's JSON library reads a number: fast, and exact only where contract 2.1 requires it. A client that sends
/// more digits than that signs another number than the server sees, here as there.
enum SerdeNumber {
    /// A binary64; nil for one that is too large.
    static func double(_ text: String) -> Double? {
        if let whole = UInt64(text) { return Double(whole) }
        // A negative zero is no integer for it.
        if let whole = Int64(text), whole != 0 { return Double(whole) }
        var rest = text.utf8[...]
        let isNegative = rest.first == UInt8(ascii: "-")
        if isNegative { rest.removeFirst() }
        var significand: UInt64 = 0
        var exponent = 0
        read(&rest, into: &significand) { exponent += 1 }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            let before = exponent
            var count = 0
            readFraction(&rest, into: &significand, counting: &count)
            exponent = before - count
        }
        if let letter = rest.first, letter == UInt8(ascii: "e") || letter == UInt8(ascii: "E") {
            exponent += max(-100_000, min(100_000, Int(String(decoding: rest.dropFirst(), as: UTF8.self)) ?? 0))
        }
        return scaled(Double(significand), by: exponent).map { isNegative ? -$0 : $0 }
    }

    /// A binary32, by way of the binary64 unless it is an integer.
    static func float(_ text: String) -> Float? {
        if let whole = Int64(text), whole != 0 { return Float(whole) }
        return double(text).map { Float($0) }
    }

    /// Takes integer digits; those that no longer fit only count.
    private static func read(
        _ rest: inout Substring.UTF8View,
        into significand: inout UInt64,
        _ overflow: () -> Void
    ) {
        var isFull = false
        while let digit = digit(rest.first) {
            rest.removeFirst()
            if !isFull, let next = appended(digit, to: significand) {
                significand = next
            } else {
                isFull = true
                overflow()
            }
        }
    }

    /// Takes digits of the fraction; those that no longer fit are forgotten.
    private static func readFraction(
        _ rest: inout Substring.UTF8View,
        into significand: inout UInt64,
        counting count: inout Int
    ) {
        var isFull = false
        while let digit = digit(rest.first) {
            rest.removeFirst()
            if !isFull, let next = appended(digit, to: significand) {
                significand = next
                count += 1
            } else {
                isFull = true
            }
        }
    }

    private static func digit(_ byte: UInt8?) -> UInt64? {
        byte.flatMap { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) ? UInt64($0 - UInt8(ascii: "0")) : nil }
    }

    private static func appended(_ digit: UInt64, to significand: UInt64) -> UInt64? {
        let (product, isTooLarge) = significand.multipliedReportingOverflow(by: 10)
        let (sum, overflows) = product.addingReportingOverflow(digit)
        return isTooLarge || overflows ? nil : sum
    }

    /// One multiplication or division by a power of ten: the rounding of that is the whole inexactness.
    private static func scaled(_ value: Double, by exponent: Int) -> Double? {
        var (value, exponent) = (value, exponent)
        while exponent < -308 {
            if value == 0 { return 0 }
            value /= 1e308
            exponent += 308
        }
        guard exponent <= 308 else { return value == 0 ? 0 : nil }
        let power = Double("1e\(abs(exponent))") ?? .infinity
        let scaled = exponent < 0 ? value / power : value * power
        return scaled.isFinite ? scaled : nil
    }
}

/// The shortest decimal digits that lead back to a binary64, and the two ways in which the capture servers print them.
struct ShortestDecimal: Equatable {
    /// Digits without zeros at either end; `0` for zero.
    private(set) var digits: [UInt8]
    /// The value is 0.d₁d₂… · 10^point.
    private(set) var point: Int
    private let isNegative: Bool

    /// Takes a finite number; the sign of zero is kept.
    init(_ value: Double) {
        isNegative = value.sign == .minus
        // Swift prints the shortest digits as well, with a point, an exponent, or both.
        let pieces = value.magnitude.description.split(separator: "e")
        let mantissa = pieces[0].split(separator: ".")
        point = mantissa[0].utf8.count + (pieces.count > 1 ? Int(pieces[1]) ?? 0 : 0)
        var all = Array(mantissa.joined().utf8)[...]
        while all.count > 1, all.first == UInt8(ascii: "0") {
            all.removeFirst()
            point -= 1
        }
        while all.count > 1, all.last == UInt8(ascii: "0") { all.removeLast() }
        digits = Array(all)
        if isZero { point = 1 }
    }

    private var isZero: Bool { digits == [UInt8(ascii: "0")] }

    /// As the real server's JSON library prints it: always with a fraction or an exponent (contract 2.1).
    var serdeText: String {
        guard point > -5, point <= 16 else { return sign(isNegative) + scientific(plus: "") }
        return sign(isNegative) + plain + (digits.count > point ? "" : ".0")
    }

    /// As ECMAScript prints it (RFC 8785 section 3.2.2.3); there is no negative zero.
    var ecmaScriptText: String {
        let isInRange = point > -6 && point <= 21
        return sign(isNegative && !isZero) + (isInRange ? plain : scientific(plus: "+"))
    }

    private func sign(_ isShown: Bool) -> String { isShown ? "-" : "" }

    private var plain: String {
        if point <= 0 { return "0." + String(repeating: "0", count: -point) + text(digits[...]) }
        if digits.count <= point { return text(digits[...]) + String(repeating: "0", count: point - digits.count) }
        return text(digits[..<point]) + "." + text(digits[point...])
    }

    private func scientific(plus: String) -> String {
        let fraction = digits.count > 1 ? "." + text(digits[1...]) : ""
        let exponent = point - 1
        return text(digits[..<1]) + fraction + "e" + (exponent < 0 ? "" : plus) + String(exponent)
    }

    private func text(_ digits: ArraySlice<UInt8>) -> String { String(decoding: digits, as: UTF8.self) }
}
