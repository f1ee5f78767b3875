import Testing

@testable import Sandbox

/// Where Go's decoder is lenient and where it is strict (photosync contract 0).
@Suite struct GoJSONTests {
    private func fields(_ text: String) throws -> GoFields { try GoFields(body: Array(text.utf8)) }

    @Test(arguments: [
        #"{"limit":7}"#, #"{"LIMIT":7}"#, #"{"limit":1,"Limit":7}"#, #" {"x":[{"y":null}],"limit":7} "#,
        "{\n\"limit\"\t:\r7}",
    ])
    func reads(text: String) throws {
        #expect(try fields(text).int("limit") == 7)
    }

    @Test(arguments: ["{}", "null", #"{"limit":null}"#, #"{"other":"x"}"#])
    func nullIsTreatedAsAbsent(text: String) throws {
        #expect(try fields(text).int("limit") == nil)
    }

    @Test(arguments: [
        #"{"limit":2.0}"#, #"{"limit":"2"}"#, #"{"limit":1e2}"#, #"{"limit":true}"#, #"{"limit":[]}"#,
        #"{"limit":99999999999999999999}"#, "", "[]", "7", "\"x\"", "{", #"{"limit":}"#, #"{"limit":07}"#,
        #"{"limit":7,}"#, #"{limit:7}"#, #"{"limit" 7}"#, "{\"li\nmit\":7}", #"{"a":"\x"}"#, #"{"a":"\u12"}"#,
    ])
    func refuses(text: String) {
        #expect(throws: UnreadableJSON.self) { _ = try fields(text).int("limit") }
    }

    @Test func refusesEndlessNesting() {
        let text = String(repeating: "[", count: 100_000)
        #expect(throws: UnreadableJSON.self) { try fields(text) }
    }

    @Test func readsOtherTypes() throws {
        let fields = try fields(
            #"{"s":"a\u00e9\ud83c\udfb8\"\/\n","b":true,"l":["x",null],"t":"2024-01-01T00:00:00Z"}"#
        )
        #expect(try fields.string("s") == "aé🎸\"/\n")
        #expect(try fields.bool("b") == true)
        #expect(try fields.strings("l") == ["x", ""])
        #expect(try fields.time("t")?.text == "2024-01-01T00:00:00Z")
        #expect(throws: UnreadableJSON.self) { try fields.time("s") }
        #expect(throws: UnreadableJSON.self) { try fields.strings("s") }
    }
}
