/// Numbers as people write them, which `Int` and `Double` take more than.
enum Digits {
    /// Whether a text is one ASCII digit or more, and nothing else.
    static func only(_ text: some StringProtocol) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}
