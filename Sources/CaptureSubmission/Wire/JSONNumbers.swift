internal import Foundation
internal import MediaCore
internal import MediaTransport

/// The shortest decimal digits that round-trip a finite binary64 number: 0.d₁d₂… · 10^`point`. −0 becomes 0 (trap 8).
package struct DecimalDigits {
    private let isNegative: Bool
    /// The digits without leading or trailing zeros; `0` for zero.
    private let digits: String
    /// Number of digits before the decimal point; may be negative, or exceed the number of digits.
    private let point: Int

    /// Swift prints the shortest digits that round-trip, and the closest among those, as ECMAScript requires.
    init(_ number: Double) {
        let parts = number.magnitude.description.split(separator: "e")
        let mantissa = (parts.first ?? "").split(separator: ".", omittingEmptySubsequences: false)
        let whole = mantissa.first ?? ""
        let all = whole + (mantissa.count > 1 ? mantissa[1] : "")
        let significant = all.drop { $0 == "0" }
        isNegative = number < 0
        digits = number == 0 ? "0" : String(significant.reversed().drop { $0 == "0" }.reversed())
        point =
            number == 0
            ? 1 : whole.count - (all.count - significant.count) + (parts.count > 1 ? Int(parts[1]) ?? 0 : 0)
    }

    /// The ECMAScript format (ECMA-262 Number::toString, required by RFC 8785 section 3.2.2.3).
    var ecmaScript: String {
        guard (-5...21).contains(point) else { return sign + scientific(point > 0 ? "+" : "") }
        return sign + (isWhole ? whole : plain)
    }

    /// The format of the reference server (contract 2.1): always with a fraction or an exponent.
    var withFraction: String {
        guard (-4...16).contains(point) else { return sign + scientific("") }
        return sign + (isWhole ? whole + ".0" : plain)
    }

    private var isWhole: Bool { point >= digits.count }

    private var whole: String { digits + zeros(point - digits.count) }

    private var sign: String { isNegative ? "-" : "" }

    private var plain: String {
        point > 0
            ? "\(digits.prefix(point)).\(digits.dropFirst(point))"
            : "0." + zeros(-point) + digits
    }

    private func scientific(_ exponentSign: String) -> String {
        let fraction = digits.dropFirst()
        return "\(digits.prefix(1))\(fraction.isEmpty ? "" : ".")\(fraction)e\(exponentSign)\(point - 1)"
    }

    private func zeros(_ count: Int) -> String {
        String(repeating: "0", count: count)
    }

    /// The nearest number with at most 15 significant digits, which every decimal parser reads exactly (contract 2.1).
    package static func rounded(_ number: Double) -> Double {
        Double(String(format: "%.14e", number)) ?? number
    }
}

extension JSONValue {
    /// A 32-bit number written as an integer; nil for `3.0` (contract 1.2).
    var int32: Int32? {
        if case .integer(let number) = self { Int32(exactly: number) } else { nil }
    }
}
