internal import MediaCore
internal import MediaStore
internal import MediaTransport

/// The delete token in a response of any form, and the object that contains it.
///
/// A token is found only if it is the only one: which of several belongs to the upload cannot be known.
struct ResponseSearch {
    /// The token as written; nil if there is none, or more than one.
    private(set) var token: String?
    /// The members of the object that contains the token, by the names of the contract; empty for other texts.
    private(set) var members: JSONObject = [:]
    /// The file's ID on the server, if the response leaves no doubt about it.
    private(set) var fileID: Int64?
    /// Whether the token's field contains something that is not a token, or there is more than one token.
    private(set) var hasUnusable = false

    private struct Found {
        var token: String
        var members: JSONObject
    }

    private var found: [Found] = []
    /// Values of `asset_id` and `file_id` anywhere in the response.
    private var fileIDs: Set<Int64> = []
    private var textIDs: Set<Int64> = []

    /// `isComplete` is whether the text is known to be complete; if so, a number at its end is not truncated.
    init(_ text: ArraySlice<UInt8>, isComplete: Bool) {
        for variant in Self.variants(of: text) {
            for value in Self.values(in: variant) { collect(value, depth: 0) }
            if found.isEmpty, !hasUnusable {
                let fields = TextFields(variant, isComplete: isComplete)
                found = fields.tokens.map { Found(token: $0, members: [:]) }
                fileIDs.formUnion(fields.fileIDs)
                textIDs = fields.plainIDs
            }
            if !found.isEmpty || hasUnusable { break }
        }
        guard let first = found.first, Set(found.map(\.token)).count == 1 else {
            hasUnusable = hasUnusable || !found.isEmpty
            return
        }
        token = first.token
        members = first.members
        let named = [members.identifier("id"), members.identifier("asset_id"), members.identifier("file_id")]
        let owned = Set(named.compactMap { $0 })
        let candidates = !owned.isEmpty ? owned : !fileIDs.isEmpty ? fileIDs : members.isEmpty ? textIDs : []
        fileID = candidates.count == 1 ? candidates.first : nil
    }

    // MARK: JSON

    /// The text as it is, and variants with HTML or form escapes decoded or tags removed.
    private static func variants(of text: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var variants = [text]
        if text.contains(UInt8(ascii: "&")) { variants.append(TextEscape.html.decode(text)[...]) }
        if text.contains(UInt8(ascii: "<")) {
            variants.append(TextFields.withoutTags(variants[variants.count - 1])[...])
        }
        if text.contains(UInt8(ascii: "%")) { variants.append(TextEscape.percent.decode(text)[...]) }
        return variants
    }

    /// The objects and lists in a text, wherever they begin.
    static func values(in text: ArraySlice<UInt8>) -> [JSONValue] {
        // Limits the work on brackets that are never closed.
        var budget = 4 << 20
        var values: [JSONValue] = []
        var rest = text
        while budget > 0, let start = rest.firstIndex(where: { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") }) {
            do throws(JSONCursor.Broken) {
                let (value, end) = try JSONReader.firstValue(of: rest[start...])
                values.append(value)
                rest = rest[end...]
            } catch {
                budget -= error.offset + 16
                rest = rest[(start + 1)...]
            }
        }
        return values
    }

    /// Levels of text inside a text, such as JSON in a JSON string.
    private static let deepestText = 3

    private mutating func collect(_ value: JSONValue, depth: Int) {
        switch value {
        case .array(let elements):
            for element in elements { collect(element, depth: depth) }
        case .object(let members):
            collect(members: members)
            for member in members { collect(member.value, depth: depth) }
        case .string(let text) where depth < Self.deepestText && text.utf8.count > 24:
            let bytes = Array(text.utf8)
            let content = Base64.decoding(bytes[...]) ?? bytes
            guard content.contains(UInt8(ascii: "{")) else { return }
            for value in Self.values(in: content[...]) { collect(value, depth: depth + 1) }
        default: break
        }
    }

    private mutating func collect(members: JSONObject) {
        let members = members.inContractNames
        for name in ["asset_id", "file_id"] {
            if let id = members.identifier(name) { fileIDs.insert(id) }
        }
        switch members["delete_token"] {
        case nil, .null?, .bool(false)?: break
        case .string(let text)?:
            // A blank text is not a token.
            guard text.contains(where: { !$0.isWhitespace }) else { break }
            if UploadResponse.token(text) == nil {
                hasUnusable = true
            } else {
                found.append(Found(token: text, members: members))
            }
        case .integer(let number)?: found.append(Found(token: String(number), members: members))
        case .double?, .bool?, .array?, .object?, .verbatim?: hasUnusable = true
        }
    }
}

extension JSONObject {
    private static let contractNames: [String: String] = {
        let names = [
            "id", "asset_id", "file_id", "delete_token", "checksum_sha256", "file_name", "file_type", "event_id",
            "session_id", "event_date", "org_name", "event_type", "label", "participants", "keywords",
            "duration_seconds", "mime_type", "position", "seq", "error", "message", "existing_asset_id",
            "existing_file_id",
        ]
        return [String: String](names.map { ($0.filter { $0 != "_" }, $0) }, uniquingKeysWith: { first, _ in first })
    }()

    /// The members under the names of the contract: `deleteToken`, `Delete-Token` and `DELETE_TOKEN`
    /// are `delete_token`.
    var inContractNames: JSONObject {
        var named = self
        for (name, value) in self {
            let key = name.lowercased().filter { $0 != "_" && $0 != "-" && $0 != " " }
            guard let contractName = Self.contractNames[key], named[contractName] == nil else { continue }
            named[contractName] = value
        }
        return named
    }
}

/// Extracts single values from a response that is not a complete JSON object: truncated, wrapped, or
/// mixed with other text.
///
/// The delete token exists in exactly one response (gighive contract 4.4), so an invalid response is searched before it
/// is discarded. A value that may be truncated is ignored.
enum Salvage {
    /// The 64 hexadecimal characters that follow a key.
    static func hex64(after key: StaticString, in text: ArraySlice<UInt8>) -> String? {
        firstValue(after: key, in: text) { rest in
            let digits = rest.prefix { HexText.isDigit($0) }
            // Fewer characters mean a truncated token; more mean something else.
            return digits.count == 64 ? String(decoding: digits, as: UTF8.self) : nil
        }
    }

    /// The positive whole number that follows a key.
    static func identifier(after key: StaticString, in text: ArraySlice<UInt8>) -> Int64? {
        firstValue(after: key, in: text) { rest in
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            // A number at the very end may be truncated.
            guard digits.endIndex < rest.endIndex, let number = Int64(String(decoding: digits, as: UTF8.self)) else {
                return nil
            }
            return number > 0 ? number : nil
        }
    }

    /// The characters of the number that follows a key, as written.
    static func number(after key: StaticString, in text: ArraySlice<UInt8>) -> String? {
        firstValue(after: key, in: text) { rest in
            let number = rest.prefix { (0x30...0x39).contains($0) || [0x2b, 0x2d, 0x2e, 0x45, 0x65].contains($0) }
            guard number.contains(where: { (0x30...0x39).contains($0) }) else { return nil }
            return String(decoding: number, as: UTF8.self)
        }
    }

    /// `audio` or `video` after a key.
    static func mediaKind(after key: StaticString, in text: ArraySlice<UInt8>) -> String? {
        firstValue(after: key, in: text) { rest in
            ["audio", "video"].first { rest.starts(with: Array(($0 + "\"").utf8)) }
        }
    }

    private static func firstValue<Value>(
        after key: StaticString,
        in text: ArraySlice<UInt8>,
        _ read: (ArraySlice<UInt8>) -> Value?
    ) -> Value? {
        var rest = text
        while let found = ResponseText.range(of: key, in: rest) {
            rest = rest[found.upperBound...]
            let value = rest.drop { $0 == 0x22 || $0 == 0x3a || $0 == 0x20 || (0x09...0x0d).contains($0) }
            if value.startIndex > rest.startIndex, let result = read(value) {
                return result
            }
        }
        return nil
    }
}

/// Values in the format of a delete token, without a name.
enum Suspects {
    /// Names of other values of that format.
    private static let explanations = [
        "sha", "checksum", "digest", "hash", "etag", "csrf", "nonce", "entry", "name", "path", "url",
    ]

    /// All words of 64 hexadecimal characters, in lower case, except `checksum`, file names, parts of addresses, and
    /// values whose names contain one of `explanations`.
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
        let name = before[...end].suffix(40).reversed().prefix(while: TextFields.isOfName)
        let words = String(decoding: name.reversed(), as: UTF8.self).lowercased()
        return explanations.contains { words.contains($0) }
    }
}
