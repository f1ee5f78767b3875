/// Writes JSON the way PHP's `json_encode` does: slashes escaped, everything outside ASCII as `\uXXXX`.
struct PHPJSONEncoder {
    /// Four spaces an indentation level, as `JSON_PRETTY_PRINT`.
    var pretty = false

    func encode(_ value: JSONValue) -> String {
        JSONWriter(quote: Self.quote, isPretty: pretty).text(of: value)
    }

    private static func quote(_ string: String, to text: inout String) {
        JSONWriter.quote(string, to: &text) { scalar in
            switch scalar {
            case "/": "\\/"
            case " "..."\u{7f}": nil
            default: String(scalar).utf16.map { JSONWriter.escaped(UInt32($0)) }.joined()
            }
        }
    }
}
