internal import Glibc
internal import MediaCore
internal import MediaSystem

/// A label with placeholders: `{stem}` (file name without extension), `{name}`, `{ext}`, `{parent}` (name of the
/// directory), `{date}` (event date), `{n}` (number of the file in the run, from 1; `{n:3}` with leading zeros), and
/// `{{`, `}}` for braces. `Auto {date}` is the automatic label of the phone app (gighive contract 8).
package struct LabelTemplate: Sendable, Equatable {
    package struct Values: Sendable {
        package var path: [UInt8]
        /// `YYYY-MM-DD`.
        package var eventDate: String
        /// Number of the file in the run, from 1.
        package var number: Int

        package init(path: [UInt8], eventDate: String, number: Int) {
            self.path = path
            self.eventDate = eventDate
            self.number = number
        }
    }

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
    package func label(_ values: Values) -> String {
        pieces.map { $0.text(values) }.joined()
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

        func text(_ values: Values) -> String {
            switch self {
            case .text(let text): text
            case .stem: FileName(values.path).name.nameParts.stem
            case .name: FileName(values.path).name
            case .pathExtension: FileName(values.path).name.nameParts.pathExtension
            case .parent: FileName(values.path).parent
            case .date: values.eventDate
            case .number(let digits): values.number.padded(digits)
            }
        }
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

private struct FileName {
    let name: String
    private let directory: ArraySlice<UInt8>
    private let isAbsolute: Bool

    init(_ path: [UInt8]) {
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
        name = String(decoding: path[(slash.map { $0 + 1 } ?? 0)...], as: UTF8.self)
        directory = path[..<(slash ?? 0)]
        isAbsolute = path.first == UInt8(ascii: "/")
    }

    var parent: String {
        let components = directory.split(separator: UInt8(ascii: "/"))
        guard let last = components.last else { return isAbsolute ? "" : Self.resolvedName(of: Array(".".utf8)) }
        if last.elementsEqual(".".utf8) || last.elementsEqual("..".utf8) {
            return Self.resolvedName(of: Array(directory))
        }
        return String(decoding: last, as: UTF8.self)
    }

    /// The last component of the resolved path; empty for a missing path or the root.
    private static func resolvedName(of path: [UInt8]) -> String {
        guard let resolved = realpath(path.cString, nil) else { return "" }
        defer { free(resolved) }
        let components = String(cString: resolved).split(separator: "/")
        return components.last.map(String.init) ?? ""
    }
}
