import MediaCore
import Testing

@Suite struct TextEscapeTests {
    @Test(
        arguments: [
            (.percent, "a%2Fb%2f", "a/b/"), (.percent, "%C3%A9", "é"), (.percent, "100%", "100%"),
            (.percent, "%4", "%4"), (.percent, "%zz%41", "%zzA"), (.percent, "%%41", "%A"),
            (.json, #"a\"\\\/\b\f\n\r\t"#, "a\"\\/\u{8}\u{C}\n\r\t"), (.json, #"\u00e9\u00E9"#, "éé"),
            (.json, #"\ud83d\ude00!"#, "😀!"), (.json, #"\ud83d!"#, #"\ud83d!"#), (.json, #"\ude00"#, #"\ude00"#),
            (.json, #"\ud83d\u0041"#, #"\ud83dA"#), (.json, #"\x41\"#, #"\x41\"#), (.json, #"\u12"#, #"\u12"#),
            (.html, "&quot;&amp;&lt;&gt;&apos;&#039;", #""&<>''"#), (.html, "&#x27;&#X1F600;", "'😀"),
            (.html, "a & b &amp", "a & b &amp"), (.html, "&nbsp;&#xD800;&#1114112;", "&nbsp;&#xD800;&#1114112;"),
            (.html, "&amp;amp;", "&amp;"),
        ] as [(TextEscape, String, String)]
    )
    func decoding(_ escape: TextEscape, _ text: String, _ expected: String) {
        #expect(String(decoding: escape.decode(Array(text.utf8)[...]), as: UTF8.self) == expected)
        // Offsets of a slice do not start at 0.
        #expect(String(decoding: escape.decode(Array("xx\(text)".utf8)[2...]), as: UTF8.self) == expected)
    }
}
