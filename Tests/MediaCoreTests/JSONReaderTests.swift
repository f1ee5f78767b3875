import Foundation
import Testing

@testable import MediaCore

@Suite struct JSONReaderTests {
    /// Foundation reads the same values if both accept a text.
    @Test(arguments: [
        #"{"id":1,"big":9223372036854775807,"token":"ab","none":null,"yes":true,"no":false,"part":0.5}"#,
        " { \"a\" : [ 1 , -2.5e3, [ ] , { } ] ,\r\n\t\"b\":\"\" } ",
        #"{"text":"\u00e9\ud83d\ude00\/\\\"\b\f\n\r\t é😀"}"#,
        #"{"same":1,"same":2}"#,
        #"{"deep":{"er":{"est":["x",[["y"]]]}}}"#,
        "{}",
    ])
    func valuesReadByFoundation(text: String) throws {
        let read = try #require(JSONValue.object(in: Array(text.utf8)[...]))
        let expected = try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
        #expect(plain(.object(read)) as? NSDictionary == expected)
    }

    @Test(arguments: [
        "", "{", "}", "[]", "1", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{,}", "{\"a\":1 \"b\":2}", "{\"a\":1}x", "{a:1}",
        "{\"a\":tru}", "{\"a\":\"b}", "{\"a\":\"b\\\"}", "{\"a\":[1,2}", "{\"a\":[1,]}", "{\"a\":+1}", "{\"a\":.5}",
        "{'a':1}",
        "{\"\\ud800\":1}",
    ])
    func invalidTexts(text: String) {
        #expect(JSONValue.object(in: Array(text.utf8)[...]) == nil)
    }

    @Test(arguments: [
        #""\ud83d""#, #""\ude00""#, #""\u12g4""#, #""\u+123""#, #""\x""#, "\"a\nb\"", "1e999", "012", "1-2", "-",
    ])
    func invalidStringsAndNumbersAreNull(value: String) throws {
        let read = try #require(JSONValue.object(in: Array("{\"a\":\(value),\"b\":1}".utf8)[...]))
        #expect(read["a"] == .null)
        #expect(read["b"]?.wholeNumber == 1)
    }

    @Test func invalidUTF8IsNotText() throws {
        let text: [UInt8] = Array("{\"a\":\"".utf8) + [0xff] + Array("\",\"b\":1}".utf8)
        let read = try #require(JSONValue.object(in: text[...]))
        #expect(read["a"]?.text == nil)
        #expect(read["b"]?.wholeNumber == 1)
    }

    @Test func nestingIsLimited() {
        let deep = String(repeating: "[", count: 100_000)
        #expect(JSONValue.object(in: Array("{\"a\":\(deep)".utf8)[...]) == nil)
        let fine = String(repeating: "[", count: 500) + String(repeating: "]", count: 500)
        #expect(JSONValue.object(in: Array("{\"a\":\(fine)}".utf8)[...]) != nil)
    }

    private func plain(_ value: JSONValue) -> Any {
        switch value {
        case .null: NSNull()
        case .bool(let flag): flag
        case .integer(let number): number
        case .double(let number): number
        case .string(let text): text
        case .array(let elements): elements.map(plain)
        case .object(let members):
            NSDictionary(dictionary: Dictionary(members.map { ($0.name, plain($0.value)) }) { $1 })
        case .verbatim(let json): json
        }
    }
}
