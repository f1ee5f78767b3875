import Testing

@testable import MediaCore

@Suite struct TerminalTextTests {
    @Test(arguments: [
        ("Band — été 🎸 日本", "Band — été 🎸 日本"),
        ("\u{1B}[2Jgone", "\\u{1b}[2Jgone"),
        ("a\nb\r\tc", "a\\u{a}b\\u{d}\\u{9}c"),
        ("\u{7F}\u{9B}31m\u{85}", "\\u{7f}\\u{9b}31m\\u{85}"),
        ("gpj\u{202E}4pm.exe", "gpj\\u{202e}4pm.exe"),
        ("\u{2066}\u{2069}\u{200E}\u{200F}\u{061C}", "\\u{2066}\\u{2069}\\u{200e}\\u{200f}\\u{61c}"),
        ("a\u{2028}b\u{2029}", "a\\u{2028}b\\u{2029}"),
        ("\r\n", "\\u{d}\\u{a}"),
        ("", ""),
    ])
    func controlCharactersBecomeVisible(text: String, expected: String) {
        #expect(TerminalText.escaped(text) == expected)
        #expect(TerminalText.escaped(Array(text.utf8)) == expected)
    }

    @Test(
        arguments: [
            ([0x61, 0xFF, 0x62], "a\\xffb"),
            ([0xC3], "\\xc3"),
            ([0xE2, 0x82, 0x41], "\\xe2\\x82A"),
            // An overlong encoding of "/", and a surrogate.
            ([0xC0, 0xAF], "\\xc0\\xaf"),
            ([0xED, 0xA0, 0x80], "\\xed\\xa0\\x80"),
            ([0xC3, 0xA9, 0x9B, 0x41], "é\\x9bA"),
        ] as [([UInt8], String)]
    )
    func bytesThatAreNotUTF8AreShown(path: [UInt8], expected: String) {
        #expect(TerminalText.escaped(path) == expected)
    }

    @Test(arguments: [
        ("abc", 3), ("", 0), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("ｱ", 1), ("Ａ", 2), ("한국", 4),
        ("\u{1112}\u{1161}\u{11AB}", 2), ("🎸", 2), ("👨‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("❤", 1), ("…", 1), ("クラブ", 6),
        ("a\u{200B}b", 2), ("क्ष", 2), ("👍🏽", 2),
    ])
    func widths(text: String, columns: Int) {
        #expect(TerminalText.width(text) == columns)
    }

    @Test(arguments: [
        ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("abcdef", 1, "…"), ("abcdef", 0, ""), ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("", 0, ""),
    ])
    func truncation(text: String, columns: Int, expected: String) {
        let cut = TerminalText.truncated(text, to: columns)
        #expect(cut == expected)
        #expect(TerminalText.width(cut) <= columns)
    }
}
