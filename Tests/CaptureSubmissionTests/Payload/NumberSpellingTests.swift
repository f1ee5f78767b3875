import MediaCore
import Testing

@testable import CaptureSubmission

@Suite("Spelling of JSON")
struct NumberSpellingTests {
    /// RFC 8785 appendix B; contract 2.1 with its thresholds (trap 8).
    @Test(
        "numbers",
        arguments: [
            (0, "0", "0.0"), (-0.0, "0", "0.0"), (5, "5", "5.0"), (-12.5, "-12.5", "-12.5"), (0.1, "0.1", "0.1"),
            (0.00001, "0.00001", "0.00001"), (0.000001, "0.000001", "1e-6"), (0.0000015, "0.0000015", "1.5e-6"),
            (1e-7, "1e-7", "1e-7"), (1.5e-7, "1.5e-7", "1.5e-7"),
            (1e15, "1000000000000000", "1000000000000000.0"), (1e16, "10000000000000000", "1e16"),
            (1e17, "100000000000000000", "1e17"),
            (1e20, "100000000000000000000", "1e20"), (1e21, "1e+21", "1e21"), (1.25e22, "1.25e+22", "1.25e22"),
            (1234567890123456.5, "1234567890123456.5", "1234567890123456.5"),
            (Double(bitPattern: 0x0000_0000_0000_0001), "5e-324", "5e-324"),
            (Double(bitPattern: 0x7fef_ffff_ffff_ffff), "1.7976931348623157e+308", "1.7976931348623157e308"),
            (Double(bitPattern: 0x4340_0000_0000_0000), "9007199254740992", "9007199254740992.0"),
            (Double(bitPattern: 0x44b5_2d02_c7e1_4af5), "9.999999999999997e+22", "9.999999999999997e22"),
            (Double(bitPattern: 0x44b5_2d02_c7e1_4af6), "1e+23", "1e23"),
            (Double(bitPattern: 0x44b5_2d02_c7e1_4af7), "1.0000000000000001e+23", "1.0000000000000001e23"),
            (Double(bitPattern: 0x444b_1ae4_d6e2_ef4e), "999999999999999700000", "9.999999999999997e20"),
            (Double(bitPattern: 0x444b_1ae4_d6e2_ef50), "1e+21", "1e21"),
            (Double(bitPattern: 0xbecb_f647_612f_3696), "-0.0000033333333333333333", "-3.3333333333333333e-6"),
            (Double(bitPattern: 0x4314_3ff3_c1cb_0959), "1424953923781206.2", "1424953923781206.2"),
            (Double(Float(0.8)), "0.800000011920929", "0.800000011920929"),
            (Double(Float(1.5518607)), "1.5518606901168823", "1.5518606901168823"),
        ] as [(Double, String, String)]
    )
    func number(_ number: Double, _ canonical: String, _ reference: String) {
        #expect(text(.double(number), .mediactl1) == canonical)
        #expect(text(.double(number), .reference) == reference)
        #expect(Double(canonical) == number)
        #expect(Double(reference) == number)
    }

    @Test("coordinates are rounded to 15 significant digits")
    func coordinates() {
        #expect(DecimalDigits.rounded(47.376886111111114) == 47.3768861111111)
        #expect(DecimalDigits.rounded(-0.123456789012345678) == -0.123456789012346)
        #expect(DecimalDigits.rounded(0) == 0)
    }

    @Test("strings have only the required escapes", arguments: CaptureProfile.allCases)
    func escapes(_ profile: CaptureProfile) {
        let given = "\"\\/\u{8}\u{c}\n\r\t\u{0}\u{1f}\u{7f}\u{2028}ü😀"
        let written = #""\"\\/\b\f\n\r\t\u0000\u001f"# + "\u{7f}\u{2028}ü😀\""
        #expect(text(.string(given), profile) == written)
    }

    @Test(
        "canonical members are in the order of UTF-16 code units, not of scalars (RFC 8785 section 3.2.3)"
    )
    func order() {
        let names = ["\u{20ac}", "\r", "\u{fb33}", "1", "\u{1f600}", "\u{80}", "\u{f6}"]
        let value = JSONValue.object(JSONObject(names.map { ($0, .null) }))
        let sorted = ["\\r", "1", "\u{80}", "\u{f6}", "\u{20ac}", "\u{1f600}", "\u{fb33}"]
        #expect(text(value, .mediactl1) == "{" + sorted.map { "\"\($0)\":null" }.joined(separator: ",") + "}")
        let unsorted = JSONValue.object(["b": .array([1, true]), "a": .null])
        #expect(text(unsorted, .reference) == #"{"b":[1,true],"a":null}"#)
    }

    private func text(_ value: JSONValue, _ profile: CaptureProfile) -> String {
        String(decoding: WireText.bytes(of: value, for: profile), as: UTF8.self)
    }
}
