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
