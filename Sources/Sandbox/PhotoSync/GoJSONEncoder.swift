/// Writes JSON the way Go's `json.Encoder` does: no escaped slashes, raw UTF-8, `<`, `>` and `&` escaped, a line feed at
/// the end.
enum GoJSONEncoder {
    static func encode(_ value: JSONValue) -> String {
        JSONWriter(quote: quote).text(of: value) + "\n"
    }

    private static func quote(_ string: String, to text: inout String) {
        // A page has thousands of texts, and hardly one that needs more.
        if isPlain(string) {
            text += "\"" + string + "\""
            return
        }
        JSONWriter.quote(string, to: &text) { scalar in
            switch scalar {
            case "<", ">", "&", "\u{2028}", "\u{2029}", "\u{0}"..."\u{1f}": JSONWriter.escaped(scalar.value)
            default: nil
            }
        }
    }

    /// ASCII without anything to escape.
    private static func isPlain(_ string: String) -> Bool {
        var string = string
        return string.withUTF8 { bytes in
            bytes.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"):
                    false
                default: (0x20..<0x7F).contains(byte)
                }
            }
        }
    }
}
