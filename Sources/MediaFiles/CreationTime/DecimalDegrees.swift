/// A fraction as written in the file, not reduced.
struct Fraction {
    let numerator: UInt64
    /// Never 0.
    let denominator: UInt64

    /// nil for a denominator of 0, and for numbers larger than any in real files, so `DecimalDegrees` cannot overflow.
    init?(_ numerator: UInt64, _ denominator: UInt64) {
        guard denominator > 0, denominator <= 1 << 32, numerator <= 1 << 40 else { return nil }
        (self.numerator, self.denominator) = (numerator, denominator)
    }

    var value: Double { Double(numerator) / Double(denominator) }
}

/// An angle as a decimal number with at most 7 places, which is about a centimeter on the ground. Its text has no extra
/// digits: 2.2945, whereas floating-point arithmetic would return 2.2944999999999998.
struct DecimalDegrees: Equatable {
    /// Ten-millionths of a degree.
    let units: Int64

    private static let unitsPerDegree: UInt64 = 10_000_000

    /// Degrees, minutes and seconds; nil above `limit` degrees, 60 minutes or 60 seconds. Rounded exactly, half away
    /// from zero.
    init?(_ parts: [Fraction], isNegative: Bool, limit: UInt64) {
        guard parts.count == 3, parts.dropFirst().allSatisfy({ $0.numerator <= 60 * $0.denominator }) else {
            return nil
        }
        var whole: UInt64 = 0
        // The remainder of each part: numerator and denominator. Denominators have at most 33, 39 and 45 bits, so
        // the sum over their product fits into 128 bits.
        var rest: [(UInt128, UInt128)] = []
        for (part, scale) in zip(parts, [1, 60, 3_600] as [UInt64]) {
            let denominator = part.denominator * scale
            let (quotient, remainder) = (part.numerator * Self.unitsPerDegree).quotientAndRemainder(
                dividingBy: denominator
            )
            whole += quotient
            rest.append((UInt128(remainder), UInt128(denominator)))
        }
        let product = rest.reduce(1) { $0 * $1.1 }
        let sum = rest.reduce(0) { $0 + $1.0 * (product / $1.1) }
        whole += UInt64(truncatingIfNeeded: sum / product)
        let remainder = sum % product
        let limit = limit * Self.unitsPerDegree
        guard whole < limit || (whole == limit && remainder == 0) else { return nil }
        let rounded = Int64(clamping: whole + (remainder * 2 >= product ? 1 : 0))
        units = isNegative ? -rounded : rounded
    }

    /// A signed number in units of 1/65536 degree; nil above `limit` degrees.
    init?(fixedPoint number: Int32, limit: UInt64) {
        guard let part = Fraction(UInt64(number.magnitude), 65_536), let zero = Fraction(0, 1) else { return nil }
        self.init([part, zero, zero], isNegative: number < 0, limit: limit)
    }

    /// The binary number nearest to the decimal: both operands of the division are exact.
    var degrees: Double { Double(units) / Double(Self.unitsPerDegree) }
}
