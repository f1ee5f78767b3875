/// Writes JSON the way the real capture server's library does: compact, raw UTF-8, no escaped slashes, only what must be
/// escaped is (contract 2.1).
enum SerdeJSONEncoder {
    static func encode(_ value: JSONValue) -> String {
        JSONWriter(quote: quote, decimal: { ShortestDecimal($0).serdeText }).text(of: value)
    }

    /// In quotes; RFC 8785 section 3.2.2.2 wants the same.
    static func quoted(_ string: String) -> String {
        var text = ""
        quote(string, to: &text)
        return text
    }

    private static func quote(_ string: String, to text: inout String) {
        JSONWriter.quote(string, to: &text) { $0 < " " ? JSONWriter.escaped($0.value) : nil }
    }
}
