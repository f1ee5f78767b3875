internal import Foundation
internal import MediaCore
internal import MediaTransport

extension AlbumManifest {
    /// Reads a manifest; nil for a text that is none.
    init?(_ text: [UInt8]) {
        guard let members = RawMember.all(of: text[...]) else { return nil }
        var fields: [String: JSONValue] = [:]
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
        // A damaged number must not bring a sequence back.
        nextSequence = max(stored, (entries.map(\.sequence).max() ?? 0) + 1)
        others = members.filter { !Self.names.contains($0.name) }
    }

    static let names: Set<String> = [
        "format", "version", "id", "libraryId", "tapeId", "title", "createdAt", "nextSequence", "entries",
    ]
}

extension AlbumManifest.RawMember {
    var parsed: JSONValue { JSONReader.value(of: value) ?? .null }

    /// The members of an object; nil for any other text.
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
    static let names: Set<String> = ["seq", "link", "target", "targetBase64", "kind", "addedAt"]

    fileprivate init?(_ text: ArraySlice<UInt8>) {
        guard let members = AlbumManifest.RawMember.all(of: text) else { return nil }
        var fields: [String: JSONValue] = [:]
        for member in members where Self.names.contains(member.name) { fields[member.name] = member.parsed }
        let bytes =
            fields["target"]?.text.map { Array($0.utf8) }
            ?? fields["targetBase64"]?.text.flatMap { Data(base64Encoded: $0) }.map(Array.init)
        guard let sequence = fields["seq"]?.wholeNumber, AlbumName.sequences.contains(sequence), let target = bytes,
            let link = fields["link"]?.text.map({ Array($0.utf8) }), AlbumManifest.isLinkName(link)
        else { return nil }
        self.init(
            sequence: sequence,
            link: link,
            target: target,
            kind: fields["kind"]?.text ?? "",
            addedAt: fields["addedAt"]?.text ?? "",
            others: members.filter { !Self.names.contains($0.name) }
        )
    }
}

extension JSONCursor {
    /// Steps over a value.
    ///
    /// - Returns: Its bytes.
    fileprivate mutating func rawValue(in text: ArraySlice<UInt8>) throws(Broken) -> ArraySlice<UInt8> {
        let first = start()
        try skip()
        let value = text[first..<start()]
        // `start` has stepped over the blanks behind it.
        return value.dropLast(value.reversed().prefix { $0 <= 0x20 }.count)
    }
}
