import Foundation
import MediaCore
import TestSupport
import Testing

@Suite("Times (traps 2 to 5)", .prompt)
struct RFC3339Tests {
    // Seconds come from `date -u -d TEXT +%s`; other digits are calculated by hand.
    @Test(
        "trap 2: 0 to 9 fraction digits, with any zone, before 1970 and after 2100",
        arguments: [
            ("1970-01-01T00:00:00Z", Int64(0)),
            ("2024-03-01T00:30:00Z", 1_709_253_000_000_000),
            ("2024-03-01T00:30:00+02:00", 1_709_245_800_000_000),
            ("2024-03-01T00:30:00-05:30", 1_709_272_800_000_000),
            ("2024-02-29T23:59:59Z", 1_709_251_199_000_000),
            ("2000-02-29T00:00:00Z", 951_782_400_000_000),
            ("2026-11-20T22:17:20.2Z", 1_795_213_040_200_000),
            ("2026-11-20T22:17:20.26Z", 1_795_213_040_260_000),
            ("2026-11-20T22:17:20.260Z", 1_795_213_040_260_000),
            ("2026-11-20T22:17:20.2605Z", 1_795_213_040_260_500),
            ("2026-11-20T22:17:20.26050Z", 1_795_213_040_260_500),
            ("2026-11-20T22:17:20.260509Z", 1_795_213_040_260_509),
            ("2026-11-20T22:17:20.2605093Z", 1_795_213_040_260_509),
            ("2026-11-20T22:17:20.26050938Z", 1_795_213_040_260_509),
            ("2026-11-20T22:17:20.260509388Z", 1_795_213_040_260_509),
            ("2024-01-01T00:00:00.999999999Z", 1_704_067_200_999_999),
            // Truncated, which is the earlier microsecond before 1970 as well.
            ("1969-12-31T23:59:59.9999999Z", -1),
            ("1969-12-31T23:59:59.000000001Z", -1_000_000),
            ("1903-07-15T12:00:00Z", -2_097_489_600_000_000),
            ("2142-05-06T07:08:09.123456Z", 5_438_646_489_123_456),
            ("0000-01-01T00:00:00Z", -62_167_219_200_000_000),
            ("0001-01-01T00:00:00Z", -62_135_596_800_000_000),
            ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
        ]
    )
    func read(text: String, microseconds: Int64) {
        #expect(RFC3339.microseconds(text) == microseconds)
    }

    @Test(
        "trap 5: a time that the server would silently replace with the current one is invalid",
        arguments: [
            "", "2024-01-31", "2024-01-31 23:59:59", "2024-01-31 23:59:59Z", "2024-01-31T23:59:59",
            "2024-01-31T23:59:59+0000", "2024-01-31T23:59:59+00", "2024-01-31T23:59:59 Z", "2024-01-31T23:59:59ZZ",
            "2024-01-31T23:59:59z", "2024-01-31t23:59:59Z", "2024-01-31T23:59:59.Z", "2024-01-31T23:59:59,5Z",
            "2024-01-31T23:59:59.0123456789Z", "2024-01-31T23:59Z", "2024-01-31T23:59:60Z", "2024-01-31T24:00:00Z",
            "2024-01-31T23:60:00Z", "2024-00-10T00:00:00Z", "2024-13-10T00:00:00Z", "2024-01-00T00:00:00Z",
            "2024-04-31T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-02-30T00:00:00Z",
            "24-01-31T23:59:59Z", "12024-01-31T23:59:59Z", "-024-01-31T23:59:59Z", "+024-01-31T23:59:59Z",
            "2024-01-31T23:59:59+24:00", "2024-01-31T23:59:59+02:60", "2024-01-31T23:59:59*02:00",
            "2024-1-31T23:59:59Z", "２０２４-01-31T23:59:59Z", "2024-01-31T23:59:59Z\n", " 2024-01-31T23:59:59Z",
            "1706745599", "2024-01-31T23:59:59.5", "2024-01-31T23:59:59.5+0200",
        ]
    )
    func refused(text: String) {
        #expect(RFC3339.microseconds(text) == nil)
    }

    @Test(
        "traps 3 and 4: times are written as text, in UTC with Z, with the fraction they have",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59.999999Z"),
            (1_795_213_040_260_500, "2026-11-20T22:17:20.2605Z"),
            (1_795_213_040_000_001, "2026-11-20T22:17:20.000001Z"),
            (951_782_400_000_000, "2000-02-29T00:00:00Z"), (5_438_646_489_123_456, "2142-05-06T07:08:09.123456Z"),
            (-62_167_219_200_000_000, "0000-01-01T00:00:00Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
        ]
    )
    func written(microseconds: Int64, text: String) {
        #expect(RFC3339.text(microseconds: microseconds) == text)
    }

    @Test(
        "times before the year 0 and after 9999 are not written",
        arguments: [-62_167_219_200_000_001, 253_402_300_800_000_000, Int64.min, Int64.max]
    )
    func unwritten(microseconds: Int64) {
        #expect(RFC3339.text(microseconds: microseconds) == nil)
    }

    @Test("date(1) agrees for every seventh day of four centuries and for random times")
    func foreign() async throws {
        var generator = SystemRandomNumberGenerator()
        var moments = (0..<146_097).filter { $0 % 7 == 0 }.map { Int64($0) * 86_400 - 5_000_000_000 }
        moments += (0..<2000).map { _ in Int64.random(in: -62_135_596_800...253_402_300_799, using: &generator) }
        let texts = try moments.map { try #require(RFC3339.text(microseconds: $0 * 1_000_000)) }
        let directory = try TemporaryDirectory()
        let list = try directory.write("times", (texts.joined(separator: "\n") + "\n").utf8)
        let result = try await ChildProcess.run("date", ["-u", "-f", list, "+%s"])
        #expect(result.lines.compactMap { Int64($0) } == moments)
        for (text, moment) in zip(texts, moments) {
            #expect(RFC3339.microseconds(text) == moment * 1_000_000)
        }
    }

    @Test("a written time is read back as the same time")
    func roundTrip() throws {
        for _ in 0..<10_000 {
            let moment = Int64.random(in: -62_167_219_200_000_000...253_402_300_799_999_999)
            let text = try #require(RFC3339.text(microseconds: moment))
            #expect(RFC3339.microseconds(text) == moment, "\(text)")
        }
    }
}
