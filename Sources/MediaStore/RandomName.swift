import MediaSystem

/// Names that cannot be guessed and do not repeat.
enum RandomName {
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")

    /// 16 characters of lowercase base 32: 80 random bits.
    static func make() -> String {
        var random = RandomBlock()
        // 80 of 128 bits are used.
        var bits = UInt128.random(in: .min ... .max, using: &random)
        return String(
            (0..<16).map { _ in
                defer { bits >>= 5 }
                return alphabet[Int(truncatingIfNeeded: bits & 31)]
            }
        )
    }
}
