internal import MediaCore
internal import MediaTransport

/// Finds the JSON in the bytes of a response, whatever surrounds it. Pure functions that never fail.
enum ResponseText {
    enum Form: Sendable, Equatable {
        /// The body is one JSON object.
        case json
        /// The object was in the `<pre>` of an HTML page (gighive contract 2.3).
        case html
        /// The object was between other text, such as a PHP warning.
        case embedded
        /// No complete object; single values may still be found in the text.
        case broken
    }

    /// The object of a response, and its plain text.
    struct Content {
        var form: Form
        var members: JSONObject
        var text: ArraySlice<UInt8>
    }

    /// Reads a body, skipping a byte order mark and whitespace before the object.
    static func content(of body: [UInt8]) -> Content {
        let text = skippingBlanks(body[...])
        if let members = JSONValue.object(in: text) {
            return Content(form: .json, members: members, text: text)
        }
        let plain: ArraySlice<UInt8>
        if text.first == UInt8(ascii: "<") || range(of: "&quot;", in: text) != nil {
            let page = preformatted(in: text) ?? text
            plain = skippingBlanks(TextEscape.html.decode(page)[...])
            if let members = JSONValue.object(in: plain) ?? embeddedObject(in: plain) {
                return Content(form: .html, members: members, text: plain)
            }
        } else {
            plain = text
        }
        if let members = embeddedObject(in: plain) {
            return Content(form: .embedded, members: members, text: plain)
        }
        return Content(form: .broken, members: [:], text: plain)
    }

    /// The title of an HTML page, its shortest useful description, unless the page states that the port is for HTTPS.
    static func title(of text: ArraySlice<UInt8>) -> String? {
        if HTTPSPort.isRefusal(text) { return HTTPSPort.detail }
        guard let start = range(of: "<title>", in: text)?.upperBound,
            let end = range(of: "</title>", in: text[start...])?.lowerBound
        else { return nil }
        let title = String(decoding: TextEscape.html.decode(text[start..<end].prefix(200)), as: UTF8.self)
        let words = title.split(whereSeparator: \.isWhitespace)
        return words.isEmpty ? nil : words.joined(separator: " ")
    }

    /// Content of the first `<pre>`, up to its end or the end of a truncated page.
    private static func preformatted(in text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let tag = range(of: "<pre", in: text),
            let close = text[tag.upperBound...].firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        let content = text[(close + 1)...]
        return content[..<(range(of: "</pre", in: content)?.lowerBound ?? content.endIndex)]
    }

    private static func embeddedObject(in text: ArraySlice<UInt8>) -> JSONObject? {
        guard let start = text.firstIndex(of: UInt8(ascii: "{")),
            let end = text.lastIndex(of: UInt8(ascii: "}")), start < end
        else { return nil }
        return JSONValue.object(in: text[start...end])
    }

    private static func skippingBlanks(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = text
        while let first = rest.first {
            if first == 0xef, rest.starts(with: [0xef, 0xbb, 0xbf]) {
                rest = rest.dropFirst(3)
            } else if first == 0x20 || (0x09...0x0d).contains(first) {
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        return rest
    }

    // MARK: Searching

    /// The first occurrence of an ASCII text, ignoring case.
    static func range(of needle: StaticString, in text: ArraySlice<UInt8>) -> Range<Int>? {
        let wanted = needle.withUTF8Buffer { Array($0) }
        guard let first = wanted.first, text.count >= wanted.count else { return nil }
        for start in text.startIndex...(text.endIndex - wanted.count) where lowercased(text[start]) == first {
            let candidate = text[start..<start + wanted.count]
            if candidate.elementsEqual(wanted, by: { lowercased($0) == $1 }) {
                return candidate.startIndex..<candidate.endIndex
            }
        }
        return nil
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 {
        (0x41...0x5a).contains(byte) ? byte | 0x20 : byte
    }
}

/// Delete tokens and IDs in a text that is not JSON: a form, XML, a page, a dump, a plain line.
///
/// A value belongs to a name if only punctuation and words such as `string` are between them. `null` and other names
/// are not such words; otherwise, a checksum after an empty token would be read as the token.
struct TextFields {
    /// Tokens: 64 hexadecimal characters after the name.
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

    /// The ends of all occurrences of a name as a whole word.
    private func ends(of name: StaticString) -> [Int] {
        var ends: [Int] = []
        var rest = text
        while let found = ResponseText.range(of: name, in: rest) {
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
        // The longest gap between a name and its value, such as the attributes of a tag.
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

    /// Words between a name and its value: types and lengths in PHP dumps, and words of a sentence.
    private static func isFiller(_ word: ArraySlice<UInt8>) -> Bool {
        ["s", "i", "string", "str", "int", "integer", "64", "type", "value", "cdata", "is"].contains(
            String(decoding: word, as: UTF8.self).lowercased()
        )
    }

    /// Whether a byte can be part of a name, an upload ID, or the token of an event link.
    static func isOfName(_ byte: UInt8) -> Bool {
        isAlphanumeric(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
    }

    static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte)
    }

    // MARK: Markup

    /// The text with a space in place of each tag.
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
