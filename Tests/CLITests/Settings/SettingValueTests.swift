import Testing

@testable import MediaCLI

@Suite struct SettingValueTests {
    @Test(arguments: [
        ("30", Duration.seconds(30)), ("30s", .seconds(30)), ("5m", .seconds(300)), ("1h", .seconds(3600)),
        ("0.5", .milliseconds(500)), ("1.5m", .seconds(90)),
    ])
    func durations(text: String, expected: Duration) throws {
        #expect(try SettingValue.timeout(text) == expected)
    }

    @Test(arguments: [
        "", "-1", "-5m", "s", "5d", "5 m", "1e3", "nan", "inf", "1.2.3", ".5", "5.", "0x10", "٣", "99999999999h",
    ])
    func invalidDurations(text: String) {
        #expect(throws: InvalidValue.self) { try SettingValue.timeoutOrZero(text) }
    }

    @Test func onlyTheFinishTimeoutMayBeZero() throws {
        #expect(try SettingValue.timeoutOrZero("0") == .zero)
        #expect(throws: InvalidValue.self) { try SettingValue.timeout("0s") }
    }

    @Test(
        arguments: [
            ("never", nil), ("7d", .seconds(604_800)), ("12h", .seconds(43_200)), ("0", .zero),
            ("3650d", .seconds(315_360_000)),
        ] as [(String, Duration?)]
    )
    func intervals(text: String, expected: Duration?) throws {
        #expect(try SettingValue.interval(text) == expected)
    }

    @Test(arguments: ["", "d", "-1d", "1.5d", "3651d", "99999999999999999999d", "7 d", "weekly", "٣d"])
    func invalidIntervals(text: String) {
        #expect(throws: InvalidValue.self) { try SettingValue.interval(text) }
    }

    /// K, M and G are powers of 1024.
    @Test(
        arguments: [
            ("1", 1), ("500K", 512_000), ("20M", 20_971_520), ("6G", 6_442_450_944), ("6g", 6_442_450_944),
            ("11811182592", 11_811_182_592), ("8589934591G", 9_223_372_035_781_033_984),
        ] as [(String, Int64)]
    )
    func sizes(text: String, expected: Int64) throws {
        #expect(try SettingValue.size(text) == expected)
    }

    @Test(
        arguments: [
            (1, "1"), (1000, "1000"), (1024, "1K"), (512_000, "500K"), (8_388_608, "8M"), (6_442_450_944, "6G"),
            (1_073_742_848, "1048577K"), (11_811_182_592, "11534358K"),
        ] as [(Int64, String)]
    )
    func sizesAreShownAsTheyAreSpecified(byteCount: Int64, expected: String) throws {
        #expect(SettingValue.sizeText(byteCount) == expected)
        #expect(try SettingValue.size(expected) == byteCount)
    }

    @Test(arguments: ["", "0", "-1", "K", "1.5M", "1T", "1MB", "8589934592G", "9223372036854775808", "1 M", "ten"])
    func invalidSizes(text: String) {
        #expect(throws: InvalidValue.self) { try SettingValue.size(text) }
    }

    @Test func aRateMayBeUnlimited() throws {
        #expect(try SettingValue.rate("0") == nil)
        #expect(try SettingValue.rate("none") == nil)
        #expect(try SettingValue.rate("1M") == 1_048_576)
    }

    @Test(arguments: ["", "-1", "+1", "1.0", "many", "99999999999999999999"]) func invalidCounts(text: String) {
        #expect(throws: InvalidValue.self) { try SettingValue.count(text) }
    }

    @Test func pins() throws {
        // `openssl dgst -sha256 -binary /dev/null | base64`
        let pin = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        #expect(try SettingValue.pin("\(pin);\(pin)") == "\(pin);\(pin)")
        for text in ["", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "sha256//AAAA", pin + ";"] {
            #expect(throws: InvalidValue.self, "\(text)") { try SettingValue.pin(text) }
        }
    }

    @Test(arguments: [
        ("retrys", "retries"), ("stall-timeout", "stall_timeout"), ("Server", "server"), ("allowhttp", "allow_http"),
        ("profile", "profiles"),
    ])
    func nearestSpelling(name: String, expected: String) {
        let known = SettingKey.allCases.map(\.rawValue) + ["profiles"]
        #expect(Spelling.nearest(to: name, among: known) == expected)
    }

    @Test func nothingIsSuggestedForNonsense() {
        #expect(Spelling.nearest(to: "zzzzzz", among: SettingKey.allCases.map(\.rawValue)) == nil)
    }
}
