internal import MediaCore

/// Delete tokens and IDs in a text that is not JSON: a form, XML, a page, a dump, a plain line.
///
/// A value belongs to a name if only punctuation and words such as `string` are between them. `null` and other names are
/// not, so that a checksum behind an empty token is not read as the token.
struct TextFields {
    /// Tokens: 64 hexadecimal characters behind the name.
    private(set) var tokens: [String] = []
    /// Values of `asset_id` and `file_id`.
    private(set) var fileIDs: Set<Int64> = []
    /// Values of `id`.
    private(set) var plainIDs: Set<Int64> = []

    private let text: ArraySlice<UInt8>
    private let isComplete: Bool

    init(_ text: ArraySlice<UInt8>, isComplete: Bool) {
        self.text = text
        self.isComplete = isComplete
        for name in ["delete_token", "delete-token", "delete token", "deletetoken"] as [StaticString] {
            for end in ends(of: name) {
                guard let token = token(at: end), !tokens.contains(token) else { continue }
                tokens.append(token)
            }
        }
        guard !tokens.isEmpty else { return }
        for name in ["asset_id", "assetid", "asset-id", "file_id", "fileid", "file-id"] as [StaticString] {
            fileIDs.formUnion(ends(of: name).compactMap(number))
        }
        plainIDs = Set(ends(of: "id").compactMap(number))
    }

    // MARK: Names and values

    /// Where a name ends, each time that it is a whole word.
    private func ends(of name: StaticString) -> [Int] {
        var ends: [Int] = []
        var rest = text
        while let found = ReplyText.range(of: name, in: rest) {
            rest = rest[found.upperBound...]
            let before = found.lowerBound > text.startIndex ? text[found.lowerBound - 1] : 0x20
            if !Self.isOfName(before), rest.first.map(Self.isOfName) != true {
                ends.append(found.upperBound)
            }
        }
        return ends
    }

    private func token(at start: Int) -> String? {
        var index = start
        // No gap is longer: the attributes of a tag, a length.
        let bound = min(text.endIndex, start + 256)
        while index < bound {
            guard Self.isAlphanumeric(text[index]) else {
                index += 1
                continue
            }
            let word = text[index...].prefix(65).prefix(while: Self.isAlphanumeric)
            if word.count == 64, word.allSatisfy(HexText.isDigit) {
                return String(decoding: word, as: UTF8.self)
            }
            guard Self.isFiller(word) else { return nil }
            index = word.endIndex
        }
        return nil
    }

    private func number(at start: Int) -> Int64? {
        let isGap = { (byte: UInt8) in !Self.isAlphanumeric(byte) && byte != UInt8(ascii: ",") }
        var rest = text[start...].prefix(64).drop(while: isGap)
        if Self.isFiller(rest.prefix(while: Self.isAlphanumeric)) {
            rest = rest.drop(while: Self.isAlphanumeric).drop(while: isGap)
        }
        let word = rest.prefix { Self.isAlphanumeric($0) }
        guard word.startIndex == start || text[word.startIndex - 1] != UInt8(ascii: "-") else { return nil }
        guard word.endIndex < text.endIndex || isComplete, let number = Int64(String(decoding: word, as: UTF8.self)),
            number > 0
        else { return nil }
        // Not the first part of a fraction or of a date.
        let next = text[word.endIndex...].prefix(2)
        guard
            next.count < 2 || !(next.first == 0x2e || next.first == 0x2d)
                || !Self.isAlphanumeric(next[next.endIndex - 1])
        else { return nil }
        return number
    }

    /// Words between a name and its value that are neither: types and lengths of PHP's dumps, and what reads like a
    /// sentence.
    private static func isFiller(_ word: ArraySlice<UInt8>) -> Bool {
        ["s", "i", "string", "str", "int", "integer", "64", "type", "value", "cdata", "is"].contains(
            String(decoding: word, as: UTF8.self).lowercased()
        )
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }

    // MARK: Other ways to write a text

    /// The text with a blank in place of each tag.
    static func withoutTags(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var plain: [UInt8] = []
        var rest = text
        while let start = rest.firstIndex(of: UInt8(ascii: "<")),
            let end = rest[start...].firstIndex(of: UInt8(ascii: ">"))
        {
            plain += rest[..<start]
            plain.append(0x20)
            rest = rest[(end + 1)...]
        }
        return plain + rest
    }
}
