/// Parses a number as the JSON library of the real server does: exact only for as many digits as contract 2.1 allows.
enum SerdeNumber {
    /// Nil if too large for binary64.
    static func double(_ text: String) -> Double? {
        if let whole = UInt64(text) { return Double(whole) }
        // A negative zero is not an integer.
        if let whole = Int64(text), whole != 0 { return Double(whole) }
        let pieces = text.split { "eE".contains($0) }
        let digits = pieces[0].drop { $0 == "-" }.split(separator: ".")
        var significand: UInt64 = 0
        // Excess integer digits raise the exponent; those of the fraction are ignored.
        var exponent = digits[0].utf8.count - append(digits[0], to: &significand)
        if digits.count > 1 { exponent -= append(digits[1], to: &significand) }
        if pieces.count > 1 { exponent += max(-100_000, min(100_000, Int(pieces[1]) ?? 0)) }
        return scaled(Double(significand), by: exponent).map { text.hasPrefix("-") ? -$0 : $0 }
    }

    /// Rounded from binary64 unless it is an integer.
    static func float(_ text: String) -> Float? {
        if let whole = Int64(text), whole != 0 { return Float(whole) }
        return double(text).map { Float($0) }
    }

    /// Appends digits while they fit, and returns their count.
    private static func append(_ digits: Substring, to significand: inout UInt64) -> Int {
        for (count, digit) in digits.utf8.enumerated() {
            let (product, isTooLarge) = significand.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = product.addingReportingOverflow(UInt64(digit - UInt8(ascii: "0")))
            if isTooLarge || overflows { return count }
            significand = sum
        }
        return digits.utf8.count
    }

    /// Rounds like a single multiplication or division by a power of ten.
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

/// The shortest decimal digits of a binary64, and the two formats of the capture servers.
struct ShortestDecimal: Equatable {
    /// Digits without zeros at either end; `0` for zero.
    private(set) var digits: [UInt8]
    /// The value is 0.d₁d₂… · 10^point.
    private(set) var point: Int
    private let isNegative: Bool

    /// The number must be finite.
    init(_ value: Double) {
        isNegative = value.sign == .minus
        // Swift prints the shortest digits with a point, an exponent, or both.
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

    /// With a fraction or an exponent, like the JSON library of the real server (contract 2.1).
    var serdeText: String {
        guard point > -5, point <= 16 else { return sign(isNegative) + scientific(plus: "") }
        return sign(isNegative) + plain + (digits.count > point ? "" : ".0")
    }

    /// The ECMAScript format (RFC 8785 section 3.2.2.3), without a negative zero.
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
