import MediaCore
import Testing

@Suite struct HexTextTests {
    @Test func bytesAreWrittenAndParsed() {
        let bytes = (0...255).map { UInt8($0) }
        let text = HexText.lowerCase(bytes)
        #expect(text.hasPrefix("000102") && text.hasSuffix("fdfeff") && text.utf8.count == 512)
        #expect(HexText.bytes(text) == bytes)
        #expect(HexText.bytes(text.uppercased()) == bytes)
        #expect(HexText.bytes("abc") == nil && HexText.bytes("0g") == nil && HexText.bytes("+1") == nil)
        let uuid = HexText.lowerCase(Array(bytes.prefix(16)), hyphensBefore: [4, 6, 8, 10])
        #expect(uuid == "00010203-0405-0607-0809-0a0b0c0d0e0f")
    }

    @Test(arguments: [
        ("00010203-0405-0607-0809-0a0b0c0d0eff", true), ("00010203-0405-0607-0809-0A0b0c0d0eff", false),
        ("000102030-405-0607-0809-0a0b0c0d0eff", false), ("000102030405060708090a0b0c0d0eff", false),
        ("00010203-0405-0607-0809-0a0b0c0d0ef", false), ("00010203-0405-0607-0809-0a0b0c0d0eg0", false),
        ("00010203-0405-0607-0809-0a0b0c0d0eé", false), ("", false),
    ])
    func groupsAreSeparatedByHyphens(_ text: String, _ isValid: Bool) {
        let bytes: [UInt8] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255]
        #expect(HexText.bytes(lowerCase: text, groups: [4, 2, 2, 2, 6]) == (isValid ? bytes : nil))
    }

    @Test(arguments: [("0f", UInt32(15)), ("FF", 255), ("+f", nil), ("-1", nil), ("0", nil), ("00f", nil), ("g0", nil)])
    func numbersHaveNoSigns(_ text: String, _ number: UInt32?) {
        #expect(HexText.number(Array(text.utf8)[...], count: 2) == number)
    }

    /// RFC 3986 section 2.1; a sign is not a digit.
    @Test(arguments: [
        ("a%20b", "a b"), ("%41%7e%C3%A9", "A~é"), ("%", "%"), ("%4", "%4"), ("%+f%-1%zz", "%+f%-1%zz"),
        ("%25%32%30", "%20"),
    ])
    func tripletsAreDecoded(_ text: String, _ decoded: String) {
        #expect(PercentEncoding.decode(text) == decoded)
    }

    @Test func reservedCharactersAreEncoded() {
        #expect(PercentEncoding.encode("a b/ü~?%") == "a%20b%2F%C3%BC~%3F%25")
        #expect(PercentEncoding.encode(path: "/a b/ü#") == "/a%20b/%C3%BC%23")
    }
}
