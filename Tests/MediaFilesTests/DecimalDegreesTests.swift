import Testing

@testable import MediaFiles

@Suite struct DecimalDegreesTests {
    struct Angle: Sendable, CustomTestStringConvertible {
        /// Numerators and denominators of degrees, minutes and seconds.
        var parts: [(UInt64, UInt64)]
        var isNegative = false
        var limit: UInt64 = 90
        /// The submitted text, calculated by hand; nil for an invalid angle.
        var expected: String?

        var testDescription: String { "\(parts)" }
    }

    private static let most: UInt64 = 0xFFFF_FFFF

    static let angles: [Angle] = [
        // 2 + 17/60 + 40.2/3600; binary arithmetic returns 2.2944999999999998.
        Angle(parts: [(2, 1), (17, 1), (402, 10)], expected: "2.2945"),
        Angle(parts: [(2, 1), (17, 1), (402, 10)], isNegative: true, expected: "-2.2945"),
        // 48 + 51/60 + 30.132/3600 = 48.85837
        Angle(parts: [(48, 1), (51, 1), (30_132, 1_000)], expected: "48.85837"),
        // 151.2153 in degrees alone, and as 151° 12.918′.
        Angle(parts: [(1_512_153, 10_000), (0, 1), (0, 1)], limit: 180, expected: "151.2153"),
        Angle(parts: [(151, 1), (12_918, 1_000), (0, 1)], limit: 180, expected: "151.2153"),
        // A third has no finite decimal form; 7 places are kept.
        Angle(parts: [(0, 1), (20, 1), (0, 1)], expected: "0.3333333"),
        Angle(parts: [(0, 1), (40, 1), (0, 1)], expected: "0.6666667"),
        // Half a unit in the last place is rounded away from zero; less than half is not.
        Angle(parts: [(1, 20_000_000), (0, 1), (0, 1)], expected: "1e-07"),
        Angle(parts: [(1, 20_000_000), (0, 1), (0, 1)], isNegative: true, expected: "-1e-07"),
        Angle(parts: [(1, 20_000_001), (0, 1), (0, 1)], expected: "0.0"),
        // Halves that appear only in the sum of all parts: 0.4e-7 degrees, and 0.00036/3600 = 1e-7 degrees of seconds.
        Angle(parts: [(1, 25_000_000), (0, 1), (36, 100_000)], expected: "1e-07"),
        Angle(parts: [(3, 50_000_000), (0, 1), (36, 100_000)], expected: "2e-07"),
        // The largest numbers of the format: 1 + 1/60 + 1/3600.
        Angle(parts: [(most, most), (most, most), (most, most)], expected: "1.0169444"),
        Angle(parts: [(90, 1), (0, 1), (0, 1)], expected: "90.0"),
        Angle(parts: [(89, 1), (60, 1), (0, 1)], expected: "90.0"),
        // A billionth of a second above the limit, which rounding would hide.
        Angle(parts: [(90, 1), (0, 1), (1, 1_000_000_000)], expected: nil),
        Angle(parts: [(most, 1), (0, 1), (0, 1)], expected: nil),
        Angle(parts: [(1, 1), (61, 1), (0, 1)], expected: nil),
        Angle(parts: [(1, 1), (0, 1), (6_001, 100)], expected: nil),
        Angle(parts: [(1, 1), (0, 0), (0, 1)], expected: nil),
        Angle(parts: [(1, 1), (0, 1)], expected: nil),
    ]

    @Test(arguments: angles)
    func fractionsAreConvertedToDecimals(angle: Angle) {
        let fractions = angle.parts.compactMap { Fraction($0.0, $0.1) }
        let degrees = DecimalDegrees(fractions, isNegative: angle.isNegative, limit: angle.limit)
        #expect(degrees.map { "\($0.degrees)" } == angle.expected)
    }

    // 16.16: 48.8584 × 65536 = 3201984.1…, written as 3201984, which is 48.858398…
    @Test(
        arguments: [(3_201_984, 48.8583984), (-3_201_984, -48.8583984), (0, 0), (90 * 65_536, 90)] as [(Int32, Double)]
    )
    func fixedPoint(number: Int32, expected: Double) {
        #expect(DecimalDegrees(fixedPoint: number, limit: 90)?.degrees == expected)
    }

    @Test(arguments: [90 * 65_536 + 1, .max, .min] as [Int32])
    func fixedPointAboveTheLimit(number: Int32) {
        #expect(DecimalDegrees(fixedPoint: number, limit: 90) == nil)
    }
}
