internal import Foundation
internal import MediaCore
internal import MediaFiles

/// Names of folders and links in a folder library (tapes contract section 5). Always UTF-8 in NFC, whatever the locale says,
/// and whatever bytes a name was made from.
enum AlbumName {
    /// What a sequence may be: a number that JSON holds exactly, and that still leaves room to count on.
    static let sequences: Range<Int64> = 1..<1 << 53

    private static let longestFolder = 200
    /// What most file systems allow.
    private static let longestLink = 255

    /// The name of the folder of an album.
    ///
    /// - Parameters:
    ///   - title: Of the album.
    ///   - number: 1 for the first try, then 2 …, as long as the name is taken.
    /// - Returns: At most 200 bytes, and the number.
    static func folder(_ title: String, number: Int = 1) -> [UInt8] {
        let name = orPlaceholder(trimmed(TextCut.head(of: safe(title), byteCount: longestFolder)))
        return Array((number == 1 ? name : "\(name) (\(number))").utf8)
    }

    /// The name of the link to an original.
    ///
    /// - Parameters:
    ///   - sequence: Its place in the order of adding, from 1.
    ///   - source: Absolute path of the original.
    /// - Returns: At most 255 bytes.
    static func link(_ sequence: Int64, source: [UInt8]) -> [UInt8] {
        let last = source.split(separator: UInt8(ascii: "/")).last.map(Array.init) ?? []
        let (stem, fileExtension) = SafeFileName.split(orPlaceholder(trimmed(safe(text(last)))))
        let digits = String(sequence)
        let prefix = String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "-"
        let room = longestLink - prefix.utf8.count - fileExtension.utf8.count
        let cut = TextCut.head(of: stem, byteCount: room)
        return Array((prefix + (fileExtension.isEmpty ? orPlaceholder(trimmed(cut)) : cut) + fileExtension).utf8)
    }

    /// The sequence of a link's name; nil for a name that no link of ours has.
    static func sequence(of name: [UInt8]) -> Int64? {
        let digits = name.prefix { (0x30...0x39).contains($0) }
        guard digits.count >= 4, name.dropFirst(digits.count).first == UInt8(ascii: "-") else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self)).flatMap { sequences.contains($0) ? $0 : nil }
    }

    // MARK: Steps

    private static func orPlaceholder(_ text: String) -> String { text.isEmpty ? "_" : text }

    /// Control characters are those of Unicode, and what reorders or breaks a line: marks and overrides of the bidirectional
    /// algorithm, line and paragraph separators. A playlist has the names as they are, and its relative lines know no way to
    /// encode. What joins characters (emoji, Persian) stays.
    private static func safe(_ text: String) -> String {
        var scalars = String.UnicodeScalarView()
        scalars.append(
            contentsOf: text.unicodeScalars.lazy.map { scalar in
                scalar == "/" || TerminalText.isDangerous(scalar) ? "_" : scalar
            }
        )
        if scalars.first == "." { scalars.replaceSubrange(..<scalars.index(after: scalars.startIndex), with: ["_"]) }
        return String(scalars).precomposedStringWithCanonicalMapping
    }

    /// By scalars: a blank with a combining mark is still a blank for others.
    private static func trimmed(_ text: String) -> String {
        var scalars = Substring(text).unicodeScalars
        while let last = scalars.last, last == "." || last == " " { scalars.removeLast() }
        return String(scalars)
    }

    /// Each byte that is no part of UTF-8 becomes `_`.
    private static func text(_ bytes: [UInt8]) -> String {
        var scalars = String.UnicodeScalarView()
        var parser = Unicode.UTF8.ForwardParser()
        var iterator = bytes.makeIterator()
        while true {
            switch parser.parseScalar(from: &iterator) {
            case .valid(let encoded): scalars.append(Unicode.UTF8.decode(encoded))
            case .error(let length): scalars.append(contentsOf: repeatElement("_", count: length))
            case .emptyInput: return String(scalars)
            }
        }
    }
}
