import MediaSystem
import Testing

@Suite struct BoxedTests {
    private struct Values {
        @Boxed var names = ["a"]
        @BoxedOptional var note: String?
    }

    @Test func aChangedCopyLeavesTheOriginal() {
        let original = Values()
        var copy = original
        copy.names.append("b")
        copy.note = "changed"
        let second = copy
        copy.names[0] = "c"
        #expect(original.names == ["a"])
        #expect(original.note == nil)
        #expect(second.names == ["a", "b"])
        #expect(second.note == "changed")
        #expect(copy.names == ["c", "b"])
    }
}
