internal import MediaCore
internal import MediaStore

/// Values in the format of a delete token that nothing names.
enum Suspects {
    /// Names of other values of that format.
    private static let explanations = [
        "sha", "checksum", "digest", "hash", "etag", "csrf", "nonce", "entry", "name", "path", "url",
    ]

    /// All words of 64 hexadecimal characters, without those that are a checksum, a file name, or part of an address.
    ///
    /// - Parameters:
    ///   - text: The decoded text.
    ///   - checksum: A checksum that the response names.
    /// - Returns: The words in lower case.
    static func find(in text: [UInt8], besides checksum: String?) -> Set<DeleteToken> {
        var suspects: Set<DeleteToken> = []
        var index = 0
        while index < text.count {
            guard TextFields.isAlphanumeric(text[index]) else {
                index += 1
                continue
            }
            let word = text[index...].prefix { TextFields.isAlphanumeric($0) }
            defer { index = word.endIndex }
            guard word.count == 64, word.allSatisfy(HexText.isDigit), !isExplained(word, in: text) else {
                continue
            }
            let value = String(decoding: word, as: UTF8.self).lowercased()
            guard value != checksum, let suspect = DeleteToken(value) else { continue }
            suspects.insert(suspect)
        }
        return suspects
    }

    private static func isExplained(_ word: ArraySlice<UInt8>, in text: [UInt8]) -> Bool {
        let after = text[word.endIndex...].prefix(2)
        if after.count == 2, after.first == UInt8(ascii: "."), after.last.map(TextFields.isAlphanumeric) == true {
            return true
        }
        let before = text[..<word.startIndex]
        if before.last == UInt8(ascii: "/") { return true }
        let end = before.suffix(40).lastIndex { TextFields.isAlphanumeric($0) }
        guard let end else { return false }
        let name = before[...end].suffix(40).reversed().prefix { byte in
            TextFields.isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
        }
        let words = String(decoding: name.reversed(), as: UTF8.self).lowercased()
        return explanations.contains { words.contains($0) }
    }
}
