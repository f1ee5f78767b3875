internal import Glibc
internal import MediaCore
internal import MediaSystem

/// A label with placeholders: `{stem}` (file name without extension), `{name}`, `{ext}`, `{parent}` (name of the
/// directory), `{date}` (event date), `{n}` (number of the file in the run, from 1; `{n:3}` with leading zeros), and
/// `{{`, `}}` for braces. `Auto {date}` is the automatic label of the phone app (gighive contract 8).
package struct LabelTemplate: Sendable, Equatable {
    package let text: String

    private let pieces: [Piece]

    /// Throws for unknown placeholders and unbalanced braces.
    package init(_ text: String) throws(LabelTemplateError) {
        self.text = text
        pieces = try Self.pieces(of: text)
    }

    /// The label of a file. Invalid UTF-8 in its path becomes U+FFFD.
    ///
    /// The parent of `a.mp4` and of `../a.mp4` is the name of the resolved directory, or empty if there is none.
    /// `eventDate` is `YYYY-MM-DD`; `number` is the number of the file in the run, from 1.
    package func label(path: [UInt8], eventDate: String, number: Int) -> String {
        let name = String(decoding: path.nameOfPath, as: UTF8.self)
        return pieces.map { piece in
            switch piece {
            case .text(let text): text
            case .stem: name.nameParts.stem
            case .name: name
            case .pathExtension: name.nameParts.pathExtension
            case .parent: Self.parent(of: path)
            case .date: eventDate
            case .number(let digits): number.padded(digits)
            }
        }.joined()
    }

    private enum Piece: Sendable, Equatable {
        case text(String)
        case stem
        case name
        case pathExtension
        case parent
        case date
        case number(digits: Int)

        /// Parses the text between braces; nil for an unknown placeholder.
        init?(place: Substring) {
            switch place {
            case "stem": self = .stem
            case "name": self = .name
            case "ext": self = .pathExtension
            case "parent": self = .parent
            case "date": self = .date
            case "n": self = .number(digits: 1)
            default:
                guard place.hasPrefix("n:"), place.utf8.count == 3, let digits = place.last?.wholeNumberValue,
                    digits > 0
                else { return nil }
                self = .number(digits: digits)
            }
        }
    }

    /// The name of a file's directory; empty for the root, and for `.` and `..` if they do not exist.
    private static func parent(of path: [UInt8]) -> String {
        let directory = path.directoryOfPath
        guard let last = directory.split(separator: UInt8(ascii: "/")).last else { return "" }
        guard last.elementsEqual(".".utf8) || last.elementsEqual("..".utf8) else {
            return String(decoding: last, as: UTF8.self)
        }
        guard let resolved = realpath(directory.cString, nil) else { return "" }
        defer { free(resolved) }
        return String(cString: resolved).split(separator: "/").last.map(String.init) ?? ""
    }

    private static func pieces(of text: String) throws(LabelTemplateError) -> [Piece] {
        var pieces: [Piece] = []
        var rest = text[...]
        while let brace = rest.firstIndex(where: { $0 == "{" || $0 == "}" }) {
            pieces.append(.text(String(rest[..<brace])))
            let isDoubled = rest[brace...].dropFirst().first == rest[brace]
            if isDoubled {
                pieces.append(.text(String(rest[brace])))
                rest = rest[brace...].dropFirst(2)
                continue
            }
            guard rest[brace] == "{" else {
                throw LabelTemplateError(template: text, reason: "\"}\" without \"{\"; escape a brace as \"}}\"")
            }
            guard let end = rest[brace...].firstIndex(of: "}") else {
                throw LabelTemplateError(template: text, reason: "\"{\" without \"}\"; escape a brace as \"{{\"")
            }
            let place = rest[brace..<end].dropFirst()
            guard let piece = Piece(place: place) else {
                let known = "valid placeholders: {stem}, {name}, {ext}, {parent}, {date}, {n} and {n:1} to {n:9}"
                throw LabelTemplateError(template: text, reason: "\"{\(place)}\" is unknown; \(known)")
            }
            pieces.append(piece)
            rest = rest[end...].dropFirst()
        }
        pieces.append(.text(String(rest)))
        return pieces
    }
}

package struct LabelTemplateError: Error, Sendable, Equatable {
    package var template: String
    package var reason: String
}
