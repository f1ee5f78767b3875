/// How the real server's JSON library reads a number: fast, and exact only where contract 2.1 says so. A client that sends
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
