internal import Foundation
internal import MediaCore
internal import MediaTransport

extension AlbumManifest {
    /// The text of the file: UTF-8, one line for each member and each link, so that people can read it.
    var text: [UInt8] {
        var members: [[UInt8]] = [
            Self.member("format", .string(Self.format)), Self.member("version", .number(version)),
            Self.member("id", .string(id)), Self.member("libraryId", .string(libraryID)),
            Self.member("tapeId", .string(tapeID)), Self.member("title", .string(title)),
            Self.member("createdAt", .string(createdAt)), Self.member("nextSequence", .number(nextSequence)),
        ]
        members += others.map(\.text)
        let list = elements.map(\.text).joined(separator: Array(",\n    ".utf8))
        members.append(Array("\"entries\": [\n    ".utf8) + list + Array("\n  ]".utf8))
        return Array("{\n  ".utf8) + Array(members.joined(separator: Array(",\n  ".utf8))) + Array("\n}\n".utf8)
    }

    private static func member(_ name: String, _ value: JSONText.Value) -> [UInt8] {
        let text =
            switch value {
            case .string(let text): JSONText.quoted(text)
            case .number(let number): String(number)
            case .bool(let flag): flag ? "true" : "false"
            }
        return Array("\(JSONText.quoted(name)): \(text)".utf8)
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
    /// A target is text where it is UTF-8, and base64 where it is not (trap 17).
    fileprivate var text: [UInt8] {
        let named: (String, JSONText.Value) =
            String(validating: target, as: UTF8.self).map { ("target", .string($0)) }
            ?? ("targetBase64", .string(Data(target).base64EncodedString()))
        let known = JSONText.object([
            ("seq", .number(sequence)), ("link", .string(String(decoding: link, as: UTF8.self))), named,
            ("kind", .string(kind)), ("addedAt", .string(addedAt)),
        ])
        let rest = others.flatMap { Array(",".utf8) + $0.text }
        return Array(known.utf8.dropLast()) + rest + Array("}".utf8)
    }
}
