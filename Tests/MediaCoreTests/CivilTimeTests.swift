import Foundation
import Glibc
import MediaCore
import Testing

@Suite struct CivilTimeTests {
    @Test(arguments: [
        ("2026-02-28", Int64(1_772_236_800)), ("2024-02-29", 1_709_164_800), ("1970-01-01", 0),
        ("1900-02-28", -2_203_977_600),
    ])
    func daysAreParsed(_ text: String, _ seconds: Int64) throws {
        let day = try #require(CivilTime(day: text))
        #expect(day.secondsSince1970 == seconds)
        #expect(day.dayText == text)
        #expect(CivilTime(secondsSince1970: seconds + 86_399).dayText == text)
    }

    @Test(arguments: [
        "", "2026-2-28", "2026-02-30", "2023-02-29", "1900-02-29", "2026-13-01", "2026-00-10", "2026-04-31",
        "2026/02/28",
        "2026-02-28 ", "+026-02-28", "２０２６-02-28",
    ])
    func otherTextIsNotADay(_ text: String) {
        #expect(CivilTime(day: text) == nil)
    }

    /// A leap second is the first second of the next minute, as in POSIX.
    @Test func aLeapSecond() throws {
        let leap = try #require(CivilTime(year: 2016, month: 12, day: 31, hour: 23, minute: 59, second: 60))
        #expect(leap.secondsSince1970 == 1_483_228_800)
        #expect(CivilTime(year: 2016, month: 12, day: 31, hour: 23, minute: 59, second: 61) == nil)
        #expect(CivilTime(year: 2016, month: 12, day: 31, hour: 24, minute: 0, second: 0) == nil)
        #expect(CivilTime(year: nil, month: 12, day: 31) == nil)
    }

    /// In the time zone of the machine, whichever it is.
    @Test func localTimesAgreeWithTheSystem() {
        for _ in 0..<2000 {
            let moment = Int64.random(in: 0...4_000_000_000)
            let local = CivilTime(localSecondsSince1970: moment)
            var (seconds, parts) = (time_t(moment), tm())
            localtime_r(&seconds, &parts)
            #expect(local.day == Int64(parts.tm_mday) && local.hour == Int64(parts.tm_hour), "\(moment)")
            // Where clocks change, one hour of each year is ambiguous.
            #expect(abs(local.localSecondsSince1970 - moment) <= 3600, "\(moment)")
        }
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max]) func extremeTimesDoNotTrap(_ seconds: Int64) {
        // Int64.min itself would overflow when it is converted back.
        let seconds = seconds / 2
        #expect(CivilTime(secondsSince1970: seconds).secondsSince1970 == seconds)
        #expect(!CivilTime(localSecondsSince1970: seconds).text.isEmpty)
    }
}
