internal import Foundation
internal import MediaCore
internal import MediaTransport

/// Properties and contents of an album (tapes contract section 5). Members written by other programs, or by newer
/// versions of mediactl, are preserved byte for byte.
struct AlbumManifest {
    struct Entry {
        /// Number in the order of adding, from 1.
        var sequence: Int64
        var link: [UInt8]
        /// The new name of the link while it is being renamed; nil otherwise.
        var nextLink: [UInt8]?
        /// Target of the link, as bytes.
        var target: [UInt8]
        /// `video`, `image`, `live`.
        var kind: String
        /// RFC 3339.
        var addedAt: String
        var others: [RawMember] = []
    }

    enum Element {
        case entry(Entry)
        /// Unknown element; preserved.
        case other(ArraySlice<UInt8>)
    }

    /// A member of an object, as raw text.
    struct RawMember {
        var name: String
        var value: ArraySlice<UInt8>
    }

    static let format = "mediactl.album"
    static let version: Int64 = 1

    var version = Self.version
    /// The album's ID in the store.
    var id: String
    var libraryID: String
    var tapeID: String
    /// The title at creation.
    var title: String
    /// RFC 3339.
    var createdAt: String
    var nextSequence: Int64 = 1
    var elements: [Element] = []
    var others: [RawMember] = []

    /// Whether a newer version has written the manifest, which makes the album read-only.
    var isNewer: Bool { version > Self.version }

    var entries: [Entry] {
        elements.compactMap { if case .entry(let entry) = $0 { entry } else { nil } }
    }

    mutating func removeEntries(where isGone: (Entry) -> Bool) {
        elements.removeAll { if case .entry(let entry) = $0 { isGone(entry) } else { false } }
    }

    /// Whether a name from a manifest is safe to use in a directory: it must not lead outside that directory.
    static func isLinkName(_ name: [UInt8]) -> Bool {
        !name.isEmpty && name != Array(".".utf8) && name != Array("..".utf8) && name.count <= 255
            && !name.contains(UInt8(ascii: "/")) && !name.contains(0)
            && !LibraryFile.allCases.contains { $0.name == name }
    }
}

extension AlbumManifest {
    init?(_ text: [UInt8]) {
        guard let members = RawMember.all(of: text[...]) else { return nil }
        var fields: JSONObject = [:]
        for member in members where Self.names.contains(member.name) { fields[member.name] = member.parsed }
        guard fields["format"]?.text == Self.format, let version = fields["version"]?.wholeNumber, version >= 1,
            let id = fields["id"]?.text, !id.isEmpty, let library = fields["libraryId"]?.text,
            let tape = fields["tapeId"]?.text
        else { return nil }
        self.init(
            version: version,
            id: id.lowercased(),
            libraryID: library.lowercased(),
            tapeID: tape.lowercased(),
            title: fields["title"]?.text ?? "",
            createdAt: fields["createdAt"]?.text ?? ""
        )
        elements = members.last { $0.name == "entries" }.map { Element.all(of: $0.value) } ?? []
        let stored = fields["nextSequence"]?.wholeNumber.flatMap { AlbumName.sequences.contains($0) ? $0 : nil } ?? 1
        // A damaged number must not cause a sequence to be reused.
        nextSequence = max(stored, (entries.map(\.sequence).max() ?? 0) + 1)
        others = members.filter { !Self.names.contains($0.name) }
    }

    static let names: Set<String> = [
        "format", "version", "id", "libraryId", "tapeId", "title", "createdAt", "nextSequence", "entries",
    ]
}

extension AlbumManifest.RawMember {
    var parsed: JSONValue { JSONReader.value(of: value) ?? .null }

    static func all(of text: ArraySlice<UInt8>) -> [Self]? {
        var cursor = JSONCursor(text)
        var members: [Self] = []
        do throws(JSONCursor.Broken) {
            try cursor.beginObject()
            while let name = try cursor.nextMember() {
                members.append(Self(name: name, value: try cursor.rawValue(in: text)))
            }
        } catch {
            return nil
        }
        return cursor.isAtEnd() ? members : nil
    }
}

extension AlbumManifest.Element {
    static func all(of text: ArraySlice<UInt8>) -> [Self] {
        var cursor = JSONCursor(text)
        var elements: [Self] = []
        do throws(JSONCursor.Broken) {
            try cursor.beginArray()
            while try cursor.nextElement() { elements.append(Self(try cursor.rawValue(in: text))) }
        } catch {
            return elements
        }
        return elements
    }

    private init(_ text: ArraySlice<UInt8>) {
        self = AlbumManifest.Entry(text).map(Self.entry) ?? .other(text)
    }
}

extension AlbumManifest.Entry {
    static let names: Set<String> = ["seq", "link", "renameTo", "target", "targetBase64", "kind", "addedAt"]

    fileprivate init?(_ text: ArraySlice<UInt8>) {
        guard let members = AlbumManifest.RawMember.all(of: text) else { return nil }
        var fields: JSONObject = [:]
        for member in members where Self.names.contains(member.name) { fields[member.name] = member.parsed }
        let bytes =
            fields["target"]?.text.map { Array($0.utf8) }
            ?? fields["targetBase64"]?.text.flatMap { Data(base64Encoded: $0) }.map(Array.init)
        guard let sequence = fields["seq"]?.wholeNumber, AlbumName.sequences.contains(sequence), let target = bytes,
            let link = fields["link"]?.text.map({ Array($0.utf8) }), AlbumManifest.isLinkName(link)
        else { return nil }
        let next = fields["renameTo"]?.text.map { Array($0.utf8) }
        self.init(
            sequence: sequence,
            link: link,
            nextLink: next.flatMap { AlbumManifest.isLinkName($0) ? $0 : nil },
            target: target,
            kind: fields["kind"]?.text ?? "",
            addedAt: fields["addedAt"]?.text ?? "",
            others: members.filter { !Self.names.contains($0.name) }
        )
    }
}

extension JSONCursor {
    fileprivate mutating func rawValue(in text: ArraySlice<UInt8>) throws(Broken) -> ArraySlice<UInt8> {
        let first = start()
        try skip()
        let value = text[first..<start()]
        // `start` has skipped the whitespace after the value.
        return value.dropLast(value.reversed().prefix { $0 <= 0x20 }.count)
    }
}

extension AlbumManifest {
    /// The content of the file: UTF-8, with one line per member and per link for readability.
    var text: [UInt8] {
        var members: [[UInt8]] = [
            Self.member("format", .string(Self.format)), Self.member("version", .integer(version)),
            Self.member("id", .string(id)), Self.member("libraryId", .string(libraryID)),
            Self.member("tapeId", .string(tapeID)), Self.member("title", .string(title)),
            Self.member("createdAt", .string(createdAt)), Self.member("nextSequence", .integer(nextSequence)),
        ]
        members += others.map(\.text)
        let list = elements.map(\.text).joined(separator: Array(",\n    ".utf8))
        members.append(Array("\"entries\": [\n    ".utf8) + list + Array("\n  ]".utf8))
        return Array("{\n  ".utf8) + Array(members.joined(separator: Array(",\n  ".utf8))) + Array("\n}\n".utf8)
    }

    private static func member(_ name: String, _ value: JSONValue) -> [UInt8] {
        Array("\(JSONText.quoted(name)): \(value.json())".utf8)
    }
}

extension AlbumManifest.RawMember {
    fileprivate var text: [UInt8] { Array("\(JSONText.quoted(name)): ".utf8) + value }
}

extension AlbumManifest.Element {
    fileprivate var text: [UInt8] {
        switch self {
        case .other(let text): Array(text)
        case .entry(let entry): entry.text
        }
    }
}

extension AlbumManifest.Entry {
    /// The target is a string if it is UTF-8, otherwise base64 (trap 17).
    fileprivate var text: [UInt8] {
        let named: JSONObject.Member =
            String(validating: target, as: UTF8.self).map { ("target", .string($0)) }
            ?? ("targetBase64", .string(Data(target).base64EncodedString()))
        let next: [JSONObject.Member] =
            nextLink.map { [("renameTo", .string(String(decoding: $0, as: UTF8.self)))] } ?? []
        let known = JSONObject(
            [("seq", .integer(sequence)), ("link", .string(String(decoding: link, as: UTF8.self)))] + next
                + [named, ("kind", .string(kind)), ("addedAt", .string(addedAt))]
        )
        let rest = others.flatMap { Array(",".utf8) + $0.text }
        return Array(known.json().utf8.dropLast()) + rest + Array("}".utf8)
    }
}
