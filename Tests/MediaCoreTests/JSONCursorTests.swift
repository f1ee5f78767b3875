import Testing

@testable import MediaCore

@Suite struct JSONCursorTests {
    private func cursor(_ text: String) -> JSONCursor { JSONCursor(Array(text.utf8)[...]) }

    @Test func membersComeInOrderAndElementsOneByOne() throws {
        var cursor = cursor(
            " { \"a\" : [ 1 , -2.5e3 ] ,\r\n\t\"b\":{\"c\":[]}, \"\\u0064\":null,\"e\":true,\"f\":\"é\\n\" } "
        )
        var found: [String] = []
        try cursor.beginObject()
        while let name = try cursor.nextMember() {
            found.append(name)
            switch cursor.kind() {
            case .array:
                try cursor.beginArray()
                while try cursor.nextElement() { found.append(try cursor.number()) }
            case .string: found.append(try cursor.string() ?? "no text")
            case .bool: found.append("\(try cursor.bool())")
            case .null:
                try cursor.null()
                found.append("null")
            default: try cursor.skip()
            }
        }
        #expect(found == ["a", "1", "-2.5e3", "b", "d", "null", "e", "true", "f", "é\n"])
        let isAtEnd = cursor.isAtEnd()
        #expect(isAtEnd)
    }

    @Test(
        arguments: [
            ("{\"a\":1,}", 7), ("{,}", 1), ("{\"a\" 1}", 5), ("{\"a\":1 \"b\":2}", 7), ("{\"a\":[1,]}", 8),
            ("{\"a\":[1 2]}", 8), ("{\"a\":nul}", 5), ("{\"a\":}", 5), ("{\"a\":\"b", 7), ("{\"a\":1", 6),
            ("{\"a\":[", 6),
            ("[]", 0), ("", 0),
        ]
    )
    func brokenTextsAreBrokenWhereTheyAre(text: String, offset: Int) {
        var cursor = cursor(text)
        #expect(throws: JSONCursor.Broken(offset: offset)) {
            try cursor.beginObject()
            while try cursor.nextMember() != nil { try cursor.skip() }
        }
    }

    @Test func onlyTheSameTextIsARepetition() throws {
        let text = "[ {\"a\":\"}\"} , {\"a\":\"}\"},{\"a\":\"}\" } , {\"a\":\"]\"}, \"x\", {\"a\":"
        var cursor = cursor(text)
        try cursor.beginArray()
        var isNext = try cursor.nextElement()
        let start = cursor.start()
        try cursor.skip()
        let known = start..<start + 9
        var responses: [Bool] = []
        for _ in 0..<4 {
            isNext = try cursor.nextElement()
            let isSame = cursor.skipRepetition(of: known)
            responses.append(isSame)
            if !isSame { try cursor.skip() }
        }
        #expect(responses == [true, false, false, false])
        isNext = try cursor.nextElement()
        #expect(isNext)
        let isSameAtEnd = cursor.skipRepetition(of: known)
        #expect(!isSameAtEnd)
        #expect(throws: JSONCursor.Broken.self) { try cursor.skip() }
    }

    @Test func skippingHasAnEnd() {
        for bomb in ["[", "{\"a\":"] {
            var cursor = cursor(String(repeating: bomb, count: 100_000))
            #expect(throws: JSONCursor.Broken.self) { try cursor.skip() }
        }
        var fine = cursor(String(repeating: "[", count: 500) + String(repeating: "]", count: 500))
        #expect(throws: Never.self) { try fine.skip() }
    }
}
