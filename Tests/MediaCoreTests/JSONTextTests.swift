import Foundation
import MediaCore
import Testing

@Suite struct JSONTextTests {
    private static let texts = [
        "", "plain", "a\"b\\c/d", "\u{8}\t\n\u{c}\r", "\u{0}\u{1}\u{1f}\u{7f}\u{9b}", "é😀 日本", "\u{2028}\u{2029}",
        "a\u{202e}b\u{2066}\u{2069}", "\u{61c}\u{200e}\u{200f}",
    ]

    /// Foundation reads back the output, for either reader.
    @Test(arguments: texts, [false, true]) func outputIsReadBack(_ text: String, _ isForTerminals: Bool) throws {
        let json = JSONText.quoted(text, isForTerminals: isForTerminals)
        #expect(try JSONDecoder().decode(String.self, from: Data(json.utf8)) == text)
        #expect(JSONReader.value(of: Array(json.utf8)[...])?.text == text)
    }

    @Test(arguments: texts) func terminalControlCharactersInTextAreEscaped(_ text: String) {
        let quoted = JSONText.quoted(text, isForTerminals: true)
        #expect(!quoted.unicodeScalars.contains(where: TerminalText.isDangerous))
        let whole = JSONText.escapedForTerminals("{\n\t\"a\": \(JSONText.quoted(text))}")
        #expect(!whole.unicodeScalars.contains(where: TerminalText.isDangerous))
        #expect(JSONReader.value(of: Array(whole.utf8)[...])?.members?["a"]?.text == text)
    }

    /// RFC 8785 section 3.2.2.2.
    @Test func escapesAreAsShortAsPossible() {
        #expect(
            JSONText.quoted("\u{8}\t\n\u{c}\r\"\\/\u{7}\u{7f}\u{2028}")
                == "\"\\b\\t\\n\\f\\r\\\"\\\\/\\u0007\u{7f}\u{2028}\""
        )
        #expect(JSONText.quoted("\u{7}\u{202e}", isForTerminals: true) == #""\u0007\u202e""#)
    }

    @Test func membersKeepTheirOrder() {
        var members: JSONObject = ["z": -1, "a\"": .array(["\n", .double(0.5)]), "m": true]
        #expect(members.json() == #"{"z":-1,"a\"":["\n",0.5],"m":true}"#)
        members["m"] = nil
        members["z"] = .verbatim("1e2")
        #expect(members.json() == #"{"z":1e2,"a\"":["\n",0.5]}"#)
        #expect(JSONValue.object(in: Array(#"{"a":1,"b":2,"a":3}"#.utf8)[...])?["a"] == 3)
    }
}
