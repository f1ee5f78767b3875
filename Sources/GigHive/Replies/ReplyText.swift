internal import MediaCore
internal import MediaTransport

/// Finds the JSON in the bytes of an answer, whatever surrounds it. Pure functions over bytes; nothing here fails.
enum ReplyText {
    /// How an answer was understood.
    enum Form: Sendable, Equatable {
        /// The body is one JSON object.
        case json
        /// The object stood in the `<pre>` of an HTML page (gighive contract 2.3).
        case html
        /// The object stood between other text, such as a warning of PHP's.
        case embedded
        /// No whole object; single values may still be found in the text.
        case broken
    }

    /// The object of an answer, and the plain text that is left when there is none.
    struct Content {
        var form: Form
        var members: [String: JSONValue]
        var text: ArraySlice<UInt8>
    }

    /// Reads a body. A byte order mark and any amount of blank space before the object are skipped.
    static func content(of body: [UInt8]) -> Content {
        let text = skippingBlanks(body[...])
        if let members = JSONValue.object(in: text) {
            return Content(form: .json, members: members, text: text)
        }
        let plain: ArraySlice<UInt8>
        if text.first == UInt8(ascii: "<") || contains(text, "&quot;") {
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

    /// The title of an HTML page: the shortest thing worth telling of one.
    static func title(of text: ArraySlice<UInt8>) -> String? {
        guard let start = range(of: "<title>", in: text)?.upperBound,
            let end = range(of: "</title>", in: text[start...])?.lowerBound
        else { return nil }
        let title = String(decoding: TextEscape.html.decode(text[start..<end].prefix(200)), as: UTF8.self)
        let words = title.split(whereSeparator: \.isWhitespace)
        return words.isEmpty ? nil : words.joined(separator: " ")
    }

    /// Content of the first `<pre>`, up to its end or the end of a cut page.
    private static func preformatted(in text: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard let tag = range(of: "<pre", in: text),
            let close = text[tag.upperBound...].firstIndex(of: UInt8(ascii: ">"))
        else { return nil }
        let content = text[(close + 1)...]
        return content[..<(range(of: "</pre", in: content)?.lowerBound ?? content.endIndex)]
    }

    private static func embeddedObject(in text: ArraySlice<UInt8>) -> [String: JSONValue]? {
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

    private static func contains(_ text: ArraySlice<UInt8>, _ needle: StaticString) -> Bool {
        range(of: needle, in: text) != nil
    }

    /// The first occurrence of an ASCII text; upper and lower case are the same.
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
